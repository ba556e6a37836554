import { AppError, Busy, busy } from '../base/errors.ts';
import { answerTooLarge } from './answer-too-large.ts';

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

/** What a work has found is not so any more, as another one was quicker: run again it will see that. On an engine where works are run beside each other. */
export class Collision extends Error {
  override readonly name = 'Collision';

  constructor(cause: unknown) {
    super('Another work was quicker.', { cause });
  }
}

/** A read named a table or a column as it was called before another change; what is remembered has been read again, and asked anew it will do. */
export class OutdatedDefinitions extends Busy {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'OutdatedDefinitions';
  }
}

/** The medium failed: what was being committed may or may not be there. The file is reopened, the work is not repeated. */
export class EngineFailure extends AppError {
  constructor(cause: unknown) {
    super('outcome_unknown', 'Something went wrong while processing your request.', { cause });
    this.name = 'EngineFailure';
  }
}

/** The engine has no room for something: a matter of the moment, but where tables are changed, which `advice` is for. */
export class NoRoom extends Busy {
  readonly advice: string;

  constructor(advice: string, cause: unknown) {
    super(cause);
    this.name = 'NoRoom';
    this.advice = advice;
  }
}

/** A client's question would take longer than the query timeout to answer (http-api A15). */
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

/** Extended code: the file beside a database through which processes share its log could not be enlarged. */
const IOERR_SHMSIZE = 4874;

/** Extended codes of the two constraints that a client's value can break. */
const CONSTRAINT_PRIMARYKEY = 1555;
const CONSTRAINT_UNIQUE = 2067;

/** What a driver's error means to us; an error that means nothing is given back as it is, because it is a bug of ours. */
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
    case CORRUPT:
    case CANTOPEN:
    case NOTADB:
      return new EngineFailure(error);
    case CONSTRAINT:
      return code === CONSTRAINT_UNIQUE || code === CONSTRAINT_PRIMARYKEY ? toUniqueViolation(error) : error;
    default:
      return error;
  }
}

function storageFull(cause: unknown): AppError {
  return new AppError('storage_full', 'The storage is full.', { cause, retryAfter: 30 });
}

/** A table or a column that is not there: it was there when the statement was put together. */
export function isMissingName(error: unknown): boolean {
  return (
    sqliteCode(error) === ERROR && error instanceof Error && /^no such (?:table|column)/.test(error.message)
  );
}

/** Another connection has what this one needs. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && (code & 0xff) === BUSY;
}

function sqliteCode(error: unknown): number | undefined {
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
