import { printable } from '../../base/printable.ts';
import { AppError, type ErrorCode } from '../../base/errors.ts';
import { ConfigError } from '../../config/config-error.ts';
import { S3Failure } from '../../files/s3-client.ts';
import { StartError } from '../../open-data-directory.ts';
import { SecretError } from '../../secrets/master-key.ts';
import { EngineFailure } from '../../storage/engine-errors.ts';
import { CommandError, exitCodes } from './command-error.ts';

/** Returns one line for errors that the operator can fix, and the whole stack for bugs. */
export function operatorMessage(error: unknown): string {
  if (error instanceof EngineFailure && error.cause instanceof Error)
    return `The data cannot be read or written: ${error.cause.message}.`;
  if (error instanceof S3Failure) return error.reason;
  if (error instanceof AppError && error.explanation !== undefined) return error.explanation;
  // The message may quote the source of an import.
  if (error instanceof AppError) return printable(`${error.message}${details(error)}`);
  if (isOneLine(error) || isFileError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function details(error: AppError): string {
  const [first] = Object.entries(error.details);
  if (first === undefined) return '';
  const [name, { message }] = first;
  if (message === error.message) return '';
  return typeof message === 'string' ? ` (${name}: ${message})` : ` (${name})`;
}

/** True for errors whose message is one line for the operator. */
function isOneLine(error: unknown): error is Error {
  return [StartError, ConfigError, SecretError, CommandError].some((kind) => error instanceof kind);
}

/** True for errors of the file system, whose message names the file: a missing certificate, a full disk. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

const codesOfErrors: Readonly<Record<ErrorCode, number>> = {
  bad_request: exitCodes.refused,
  broken_rule: exitCodes.refused,
  unauthorized: exitCodes.permission,
  forbidden: exitCodes.permission,
  not_found: exitCodes.refused,
  method_not_allowed: exitCodes.refused,
  too_slow: exitCodes.unavailable,
  conflict: exitCodes.refused,
  precondition_failed: exitCodes.refused,
  payload_too_large: exitCodes.refused,
  unsupported_media_type: exitCodes.refused,
  range_not_satisfiable: exitCodes.refused,
  unprocessable: exitCodes.refused,
  too_many_requests: exitCodes.unavailable,
  outcome_unknown: exitCodes.unavailable,
  unavailable: exitCodes.unavailable,
  storage_full: exitCodes.io,
  quota_full: exitCodes.refused,
};

/** Returns the code that a command ends with when it has failed by this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof ConfigError) return exitCodes.usage;
  if (isFileError(error)) return exitCodes.io;
  if (error instanceof S3Failure) return exitCodes.unavailable;
  if (error instanceof AppError) return isOfFile(error) ? exitCodes.io : codesOfErrors[error.code];
  if (error instanceof StartError || error instanceof SecretError) return exitCodes.unavailable;
  return exitCodes.bug;
}

/** True when a file could not be read, copied or changed. One of the data is explained to the operator alone. */
function isOfFile({ explanation, cause }: AppError): boolean {
  // The error of a full disk names no file.
  const isOfWrite = cause instanceof Error && 'syscall' in cause && cause.syscall === 'write';
  return isFileError(cause) || isOfWrite || (explanation !== undefined && cause !== undefined);
}
