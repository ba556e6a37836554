import { codeOf } from '../base/code-of.ts';

/** What a command had to say could not be written: the disk under its output is full. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/**
 * Writes to standard output, and waits for it: the process ends with the command, and what went wrong later nobody would hear. A
 * reader who is gone, as `head` is, has what it wanted.
 */
export async function print(text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A failure is told here as well as to the callback; what nobody hears of it ends the process with a stack.
  process.stdout.once('error', reject);
  process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  try {
    await promise;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OutputError(`The output cannot be written: ${reason}.`, { cause: error });
  }
}
