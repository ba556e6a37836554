import { StartError } from '../app.ts';
import { AppError } from '../base/errors.ts';
import { ConfigError } from '../config.ts';
import { EngineFailure } from '../storage/engine-errors.ts';
import { UnopenedFile } from '../storage/sqlite/unopened-file.ts';
import { SecretError } from '../secrets/secret-error.ts';
import { OutputError } from './print.ts';
import { printable } from './printable.ts';

/** Returns one line for errors that the operator can fix, and the whole stack for bugs. */
export function operatorMessage(error: unknown): string {
  if (error instanceof UnopenedFile) return error.explanation;
  if (error instanceof EngineFailure && error.cause instanceof Error)
    return `The data cannot be read or written: ${error.cause.message}.`;
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
function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

function details(error: AppError): string {
  const [first] = Object.entries(error.details);
  if (first === undefined) return '';
  const [name, { message }] = first;
  return typeof message === 'string' ? ` (${name}: ${message})` : ` (${name})`;
}
