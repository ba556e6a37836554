import { AppError, type ErrorCode } from '../base/errors.ts';
import { ConfigError } from '../config.ts';
import { StartError } from '../open-data-directory.ts';
import { SecretError } from '../secrets/master-key.ts';
import { UnopenedFile } from '../storage/sqlite/home.ts';
import { isFileError, OutputError } from './print.ts';

/** What a command ends with, so that a script can tell why: the codes of sysexits.h where it has one. */
export const exitCodes = {
  done: 0,
  /** The command line was wrong, and nothing was done (EX_USAGE). */
  usage: 64,
  /** What was given, or is there, does not allow it (EX_DATAERR). */
  refused: 65,
  /** The service or the data cannot be reached, or not now (EX_UNAVAILABLE). */
  unavailable: 69,
  /** A fault of this program (EX_SOFTWARE). */
  bug: 70,
  /** Something could not be read or written, or there is no room for it (EX_IOERR). */
  io: 74,
  /** Who asks may not do it (EX_NOPERM). */
  permission: 77,
} as const;

const codesOfErrors: Readonly<Record<ErrorCode, number>> = {
  bad_request: exitCodes.refused,
  broken_rule: exitCodes.refused,
  unauthorized: exitCodes.permission,
  forbidden: exitCodes.permission,
  not_found: exitCodes.refused,
  method_not_allowed: exitCodes.refused,
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
};

/** Returns the code that a command ends with when it has failed by this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return exitCodes.usage;
  if (error instanceof UnopenedFile || error instanceof OutputError) return exitCodes.io;
  if (error instanceof AppError) return codesOfErrors[error.code];
  if (error instanceof StartError || error instanceof SecretError) return exitCodes.unavailable;
  return isFileError(error) ? exitCodes.io : exitCodes.bug;
}
