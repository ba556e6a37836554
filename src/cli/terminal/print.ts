import type { Readable, Writable } from 'node:stream';
import { printable, printableLines, printableStyled } from '../../base/printable.ts';
import { codeOf } from '../../base/process.ts';
import type { Environment } from '../../config/config.ts';
import { CommandError, exitCodes } from './command-error.ts';

/** What a command uses of its process. Tests run commands in theirs, with streams of their own. */
export interface CommandIo {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number | undefined };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Listens to Ctrl-C. */
  on(event: 'SIGINT', listener: () => void): unknown;
  off(event: 'SIGINT', listener: () => void): unknown;
  /** Variables in place of those of the process, which config.ts reads. */
  readonly environment?: Environment;
  /** In place of the working directory, where chancery.toml is looked for. */
  readonly folder?: string;
}

/**
 * Writes to standard output and waits for it: the process ends with the command, so a later failure would go unnoticed. A reader
 * that has closed the pipe, as `head` does, is no failure; it resolves to false then. What a terminal would obey is escaped, as texts
 * come from others.
 */
export function print(io: CommandIo, text: string): Promise<boolean> {
  return write(io, printableLines(text));
}

/** As {@link print}, for a text with colours. Each part of it that others have written went through `printable` before. */
export function printStyled(io: CommandIo, text: string): Promise<boolean> {
  return write(io, printableStyled(text));
}

/** As {@link print}, for what another program reads: without a terminal, it is written as it is. */
export function printForPrograms(io: CommandIo, text: string): Promise<boolean> {
  return io.stdout.isTTY === true ? print(io, text.replaceAll('\r\n', '\n')) : write(io, text);
}

async function write({ stdout }: CommandIo, text: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A failure is also emitted as an event, which without a listener would end the process with a stack.
  stdout.once('error', reject);
  stdout.write(text, (error) => (error ? reject(error) : resolve()));
  try {
    await promise;
    stdout.off('error', reject);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return false;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(exitCodes.io, `The output cannot be written: ${reason}.`, { cause: error });
  }
}

/** Writes to standard output without waiting. */
export function printSoon({ stdout }: CommandIo, text: string): void {
  stdout.write(printableLines(text));
}

/** Writes a text to standard error: questions and notes, which are no part of what the command answers. */
export function note({ stderr }: Pick<CommandIo, 'stderr'>, text: string): void {
  stderr.write(printableLines(text));
}

/** Shows progress on a terminal, each line in place of the one before. */
export function showLine({ stderr }: CommandIo, text: string): void {
  if (stderr.isTTY === true) stderr.write(`\r\u001B[K${printable(text)}`);
}

/**
 * Runs work that Ctrl-C ends well: the signal is aborted by the first. The next finds no listener, and ends the process.
 */
export async function untilInterrupted<Result>(
  io: CommandIo,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interrupt = new AbortController();
  const onInterrupt = (): void => {
    io.off('SIGINT', onInterrupt);
    interrupt.abort();
  };
  io.on('SIGINT', onInterrupt);
  try {
    return await work(interrupt.signal);
  } finally {
    io.off('SIGINT', onInterrupt);
  }
}
