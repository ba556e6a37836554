import { AppError, Busy, busy, QuotaExceeded } from '../base/errors.ts';
import { codeOf } from '../base/process.ts';
import { answerTooLarge } from './database.ts';
import type { StorageFault } from './storage-health.ts';

/** A unique index refused a row. `columns` are the columns of the index; empty where the engine names only the index. */
export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
  readonly columns: readonly string[];
  readonly index: string | undefined;

  constructor(columns: readonly string[], index: string | undefined, cause: unknown) {
    super('A unique index refused the row.', { cause });
    this.columns = columns;
    this.index = index;
  }
}

/** A concurrent work has changed what this work had read: it is run again and then sees the change. Only where works run concurrently. */
export class Collision extends Error {
  override readonly name = 'Collision';

  constructor(cause: unknown) {
    super('Another work was quicker.', { cause });
  }
}

/** A statement was not run, because an earlier one of its transaction, the `cause`, was refused. */
export class SkippedStatement extends Error {
  override readonly name = 'SkippedStatement';

  constructor(cause: unknown) {
    super('An earlier statement was refused.', { cause });
  }
}

/** A read was compiled from outdated definitions. They have been read again, so that it succeeds when it is compiled anew. */
export class OutdatedDefinitions extends Busy {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'OutdatedDefinitions';
  }
}

/**
 * The medium or the connection failed. What was being committed may or may not be there, unless the failure is `certain` to have
 * come before anything was written. The work is not repeated.
 */
export class EngineFailure extends AppError {
  constructor(cause: unknown, { isCertain = false }: { readonly isCertain?: boolean } = {}) {
    if (isCertain) super('unavailable', unavailableText, { cause, retryAfter: unavailableSeconds });
    else super('outcome_unknown', 'Something went wrong while processing your request.', { cause });
    this.name = 'EngineFailure';
  }
}

export const unavailableText = 'The service is not available, try again later.';
/** An operator has to act first, so an immediate retry would be useless. */
export const unavailableSeconds = 30;

/** The engine lacks room for something. Usually that passes; for a change of tables it does not, and `advice` is the remedy. */
export class NoRoom extends Busy {
  readonly advice: string;

  constructor(advice: string, cause: unknown) {
    super(cause);
    this.name = 'NoRoom';
    this.advice = advice;
  }
}

/** A client's query has taken longer than the query timeout (http-api A15). */
export class QueryTimeout extends AppError {
  constructor(cause?: unknown) {
    super('unavailable', 'The query took too long.', { cause, retryAfter: 1 });
    this.name = 'QueryTimeout';
  }
}

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html). */
const ERROR = 1;
const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const TOOBIG = 18;
const CONSTRAINT = 19;
const NOTADB = 26;

/** Extended codes of unreadable data: a page, the end of a file, an error of the file system, a wrong checksum. */
const unreadable: ReadonlySet<number> = new Set([266, 522, 8202, 8458]);

/** Extended code: a write to a file failed. */
const IOERR_WRITE = 778;

/** Extended code: the file beside a database through which processes share its log could not be enlarged. */
const IOERR_SHMSIZE = 4874;

/** Extended codes of the two constraints that a client's value can break. */
const CONSTRAINT_PRIMARYKEY = 1555;
const CONSTRAINT_UNIQUE = 2067;
/** Extended code: a trigger refused a row. All triggers are those of the quota of records. */
const CONSTRAINT_TRIGGER = 1811;

/** Translates an error of node:sqlite. An error that it does not know is returned as it is, because it is a bug of ours. */
export function toEngineError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  switch (code & 0xff) {
    case BUSY:
    case LOCKED:
      return busy(error);
    case FULL:
      return storageFull(error);
    case TOOBIG:
      return answerTooLarge(error);
    case IOERR:
      return code === IOERR_SHMSIZE ? storageFull(error) : new EngineFailure(error);
    case PERM:
    case READONLY:
    case CANTOPEN:
      // SQLite finds these before it writes: a COMMIT opens no file.
      return new EngineFailure(error, { isCertain: true });
    case CORRUPT:
    case NOTADB:
      return new EngineFailure(error);
    case CONSTRAINT:
      if (code === CONSTRAINT_TRIGGER) return new QuotaExceeded('records', { cause: error });
      return code === CONSTRAINT_UNIQUE || code === CONSTRAINT_PRIMARYKEY ? toUniqueViolation(error) : error;
    default:
      return error;
  }
}

export function storageFull(cause: unknown): AppError {
  return new AppError('storage_full', 'The storage is full.', { cause, retryAfter: 30 });
}

/** A search for damage has found some: `problems`, in words of the engine. */
export class StorageDamage extends Error {
  override readonly name = 'StorageDamage';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join(' '));
    this.problems = problems;
  }
}

/** Translates an error of a file, or of its sync. One that is no fault of the disk is returned unchanged. */
export function toDiskError(error: unknown): unknown {
  const code = codeOf(error);
  if (fullDisk.has(code)) return storageFull(error);
  return failedDisk.has(code) ? new EngineFailure(error, { isCertain: true }) : error;
}

const fullDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
const failedDisk: ReadonlySet<string> = new Set(['EIO', 'EROFS']);

/** Returns the failure of a read, or of a work before its COMMIT: whatever failed, nothing was kept. */
export function asCertain(error: unknown): unknown {
  return error instanceof EngineFailure && error.code === 'outcome_unknown'
    ? new EngineFailure(error.cause, { isCertain: true })
    : error;
}

/** Returns the storage fault behind an error of SQLite or of a file, however often it was wrapped; undefined if there is none. */
export function faultOf(error: unknown): StorageFault | undefined {
  if (error instanceof StorageDamage) return 'damage';
  const code = sqliteCode(error);
  if (code !== undefined) return sqliteFault(code);
  if (fullDisk.has(codeOf(error)) || failedDisk.has(codeOf(error))) return 'disk';
  return error instanceof AppError ? (faultOf(error.cause) ?? faultWithoutCause(error)) : undefined;
}

function faultWithoutCause(error: AppError): StorageFault | undefined {
  if (error.code === 'storage_full') return 'disk';
  return error instanceof EngineFailure ? 'unavailable' : undefined;
}

function sqliteFault(code: number): StorageFault | undefined {
  switch (code & 0xff) {
    case CORRUPT:
    case NOTADB:
      return 'damage';
    case IOERR:
      return unreadable.has(code) ? 'damage' : 'disk';
    case FULL:
    case PERM:
    case READONLY:
      return 'disk';
    case CANTOPEN:
      return 'unavailable';
    default:
      return undefined;
  }
}

/** True when a statement named a table or a column that no longer exists. */
export function isMissingName(error: unknown): boolean {
  return (
    sqliteCode(error) === ERROR && error instanceof Error && /^no such (?:table|column)/.test(error.message)
  );
}

/** True when a write to a file failed, of which a part may have been written. */
export function isFailedWrite(error: unknown): boolean {
  return sqliteCode(error) === IOERR_WRITE;
}

/** True when another connection holds a lock that this one needs. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && (code & 0xff) === BUSY;
}

/** The extended result code in an error of node:sqlite; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** SQLite names the culprit only in its message: `UNIQUE constraint failed: posts.a, posts.b` or `…: index 'name'`. */
function toUniqueViolation(error: unknown): UniqueViolation {
  const message = error instanceof Error ? error.message : '';
  const culprit = message.slice(message.indexOf('failed: ') + 'failed: '.length);
  const index = /^index '(.+)'$/.exec(culprit)?.[1];
  if (index !== undefined) return new UniqueViolation([], index, error);
  const columns = culprit.split(', ').map((name) => name.slice(name.lastIndexOf('.') + 1));
  return new UniqueViolation(columns, undefined, error);
}
