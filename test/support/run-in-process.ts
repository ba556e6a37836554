import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { runCommand } from '../../src/cli/commands/run-command.ts';
import type { Environment } from '../../src/config/config.ts';

/** How a command ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** All variables that it sees. */
  readonly environment?: Environment;
  /** All of its standard input, or what gives it. */
  readonly input?: string | Readable;
  /** In place of the working directory, where chancery.toml is looked for. */
  readonly folder?: string;
  /** In place of the stream whose text is the result's. */
  readonly stdout?: Writable;
  /** The width of the terminal that all of its streams are; without one they are pipes. */
  readonly columns?: number;
  /** Emits `SIGINT` for Ctrl-C. */
  readonly interrupts?: EventEmitter;
  /** Called with each text that it writes to standard output, as soon as it does. */
  readonly onOutput?: (text: string) => void;
  /** As `onOutput`, for standard error, which has the questions. */
  readonly onQuestion?: (text: string) => void;
}

/**
 * Runs a command in this process as `src/main.ts` does. Not for `serve`, which writes to the log of the process and waits for signals.
 */
export async function runInProcess(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const {
    environment = {},
    input = '',
    folder,
    stdout,
    columns,
    interrupts = new EventEmitter(),
    onOutput,
    onQuestion,
  } = options;
  const [out, err] = [new TextStream(columns, onOutput), new TextStream(columns, onQuestion)];
  const stdin = typeof input === 'string' ? Readable.from([input]) : input;
  const code = await runCommand(args, {
    stdin: Object.assign(stdin, { isTTY: columns !== undefined }),
    stdout: stdout ?? out,
    stderr: err,
    environment,
    ...(folder !== undefined && { folder }),
    on: (event, listener) => interrupts.on(event, listener),
    off: (event, listener) => interrupts.off(event, listener),
  });
  return { code, stdout: out.text, stderr: err.text };
}

class TextStream extends Writable {
  text = '';
  readonly columns: number | undefined;
  readonly isTTY: boolean;
  readonly #onText: ((text: string) => void) | undefined;

  constructor(columns: number | undefined, onText?: (text: string) => void) {
    super();
    this.columns = columns;
    this.isTTY = columns !== undefined;
    this.#onText = onText;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    this.#onText?.(chunk.toString());
    done();
  }
}
