/** Runs a callback after a commit. If it throws, that is a bug and ends the process, but never makes a committed work look refused. */
export function callBack(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    setImmediate(() => {
      throw error;
    });
  }
}
