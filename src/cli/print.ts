import type { Readable, Writable } from 'node:stream';
import { StartError } from '../open-data-directory.ts';
import { AppError } from '../base/errors.ts';
import { codeOf } from '../base/process.ts';
import { ConfigError, type Environment } from '../config.ts';
import { S3Failure } from '../files/s3-client.ts';
import { SecretError } from '../secrets/master-key.ts';
import { EngineFailure } from '../storage/engine-errors.ts';

/** The output of a command could not be written: the disk under it is full, for example. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/** What a command uses of its process. Tests run commands in theirs, with streams of their own. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Variables in place of those of the process, which config.ts reads. */
  readonly environment?: Environment;
}

/**
 * Writes to standard output and waits for it: the process ends with the command, so a later failure would go unnoticed. A reader
 * that has closed the pipe, as `head` does, is no failure.
 */
export async function print({ stdout }: CommandIo, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A failure is also emitted as an event, which without a listener would end the process with a stack.
  stdout.once('error', reject);
  stdout.write(text, (error) => (error ? reject(error) : resolve()));
  try {
    await promise;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OutputError(`The output cannot be written: ${reason}.`, { cause: error });
  }
}

/** Replaces control characters: names come from others, and a terminal would obey escape sequences in them. */
export function printable(line: string): string {
  return line.replaceAll(/\p{C}/gu, '?');
}

/** Shows progress on a terminal, each line in place of the one before. */
export function showLine({ stderr }: CommandIo, text: string): void {
  if (stderr.isTTY === true) stderr.write(`\r\u001B[K${printable(text)}`);
}

/** Returns one line for errors that the operator can fix, and the whole stack for bugs. */
export function operatorMessage(error: unknown): string {
  if (error instanceof AppError && error.explanation !== undefined) return error.explanation;
  if (error instanceof EngineFailure && error.cause instanceof Error)
    return `The data cannot be read or written: ${error.cause.message}.`;
  if (error instanceof S3Failure) return error.reason;
  // The message may quote the source of an import.
  if (error instanceof AppError) return printable(`${error.message}${details(error)}`);
  if (isKnown(error) || isFileError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** True for errors whose message is one line for the operator. */
function isKnown(error: unknown): error is Error {
  return [StartError, ConfigError, SecretError, OutputError].some((kind) => error instanceof kind);
}

/** True for errors of the file system, whose message names the file: a missing certificate, a full disk. */
export function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

function details(error: AppError): string {
  const [first] = Object.entries(error.details);
  if (first === undefined) return '';
  const [name, { message }] = first;
  return typeof message === 'string' ? ` (${name}: ${message})` : ` (${name})`;
}
