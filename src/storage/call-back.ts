/** What is committed is committed: a callback that throws is a bug that ends the process, but never makes a kept work look refused. */
export function callBack(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    setImmediate(() => {
      throw error;
    });
  }
}
