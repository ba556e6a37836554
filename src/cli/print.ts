import { codeOf } from '../base/code-of.ts';

/** The output of a command could not be written: the disk under it is full, for example. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/**
 * Writes to standard output and waits for it: the process ends with the command, so a later failure would go unnoticed. A reader
 * that has closed the pipe, as `head` does, is no failure.
 */
export async function print(text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A failure is also emitted as an event, which without a listener would end the process with a stack.
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
