import { Readable, Writable } from 'node:stream';
import { runCommand } from '../../src/cli/run-command.ts';
import type { Environment } from '../../src/config.ts';

/** How a command ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  /** All variables that it sees. */
  readonly environment?: Environment;
  /** All of its standard input. */
  readonly input?: string;
  /** In place of the stream whose text is the result's. */
  readonly stdout?: Writable;
}

/**
 * Runs a command in this process as `src/main.ts` does. Not for `serve`, which writes to the log of the process and waits for signals.
 */
export async function runInProcess(
  args: readonly string[],
  { environment = {}, input = '', stdout }: CommandOptions = {},
): Promise<CommandResult> {
  const [out, err] = [new TextStream(), new TextStream()];
  const io = { stdin: Readable.from([input]), stdout: stdout ?? out, stderr: err, environment };
  const code = await runCommand(args, io);
  return { code, stdout: out.text, stderr: err.text };
}

class TextStream extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
