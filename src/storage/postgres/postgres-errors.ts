import { DatabaseError } from 'pg';
import { AppError, busy, QuotaExceeded } from '../../base/errors.ts';
import {
  Collision,
  EngineFailure,
  NoRoom,
  QueryTimeout,
  storageFull,
  UniqueViolation,
  unavailableSeconds,
  unavailableText,
} from '../engine-errors.ts';
import type { StorageFault } from '../storage-health.ts';

/**
 * Translates an error of PostgreSQL by its SQLSTATE (https://www.postgresql.org/docs/18/errcodes-appendix.html). An error that it does
 * not know is returned as it is, because it is a bug of ours. An error of `pg` without a SQLSTATE always means that a connection was
 * lost or could not be established: our values are of types that `pg` can send.
 */
export function toPostgresError(error: unknown): Error {
  if (error instanceof AppError || error instanceof UniqueViolation) return error;
  if (!(error instanceof DatabaseError)) return busy(error);
  const state = error.code ?? '';
  if (state === UNIQUE_VIOLATION) return toUniqueViolation(error);
  if (state === DISK_FULL) return storageFull(error);
  if (state === QUOTA_OF_RECORDS) return new QuotaExceeded('records', { cause: error });
  if (damagedStates.has(state))
    return new AppError('unavailable', unavailableText, { cause: error, retryAfter: unavailableSeconds });
  if (state === QUERY_CANCELED) return new QueryTimeout(error);
  const advice = noRoomStates.get(state);
  if (advice !== undefined) return new NoRoom(advice, error);
  if (unavailableStates.has(state) || unavailableClasses.has(state.slice(0, 2))) return busy(error);
  if (refusedClasses.has(state.slice(0, 2))) {
    return new AppError('bad_request', 'A value cannot be stored or compared as it is.', { cause: error });
  }
  return error;
}

/** Returns the SQLSTATE of the server's error, however often it has been wrapped. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code;
  return error instanceof Error ? sqlState(error.cause) : undefined;
}

/** Returns the storage fault behind an error of the server. An absent server is noticed by the polls (home.ts). */
export function postgresFault(error: unknown): StorageFault | undefined {
  const state = sqlState(error) ?? '';
  if (damagedStates.has(state)) return 'damage';
  if (state === DISK_FULL || state === IO_ERROR) return 'disk';
  return state === READ_ONLY ? 'unavailable' : undefined;
}

/** True when two transactions could not both go on; the work may succeed when it is run again. */
export function isCollision(error: unknown): boolean {
  if (error instanceof Collision) return true;
  const state = sqlState(error);
  return state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED;
}

/** True when a statement named a table or a column that no longer exists. */
export function isOutdatedName(error: unknown): boolean {
  const state = sqlState(error);
  return state === UNDEFINED_TABLE || state === UNDEFINED_COLUMN;
}

/** True when a table has changed since a statement was prepared, or the session does not know it: it has to be prepared again. */
export function isStaleStatement(error: unknown): boolean {
  const state = sqlState(error);
  if (state === INVALID_STATEMENT_NAME) return true;
  const cause = error instanceof DatabaseError ? error : error instanceof Error ? error.cause : undefined;
  return state === FEATURE_NOT_SUPPORTED && cause instanceof DatabaseError && cause.routine === STALE_PLAN;
}

/**
 * True when the planner found no valid join order. For some mixtures of outer and lateral joins, which filters by related records use,
 * it does not try the orders that exist (seen in PostgreSQL 18.4); the order in which the joins are written is always valid. Recognized
 * by its message, as internal errors have neither a code of their own nor translations.
 */
export function hasNoJoinOrder(error: unknown): boolean {
  return error instanceof DatabaseError && /^failed to build any \d+-way joins$/.test(error.message);
}

/**
 * Returns the position for which a table of the log has no partition, if that is why a row was rejected; 0 when the server does not report it.
 * Recognized by the server's function, as the code is that of all checks and the message is translated.
 */
export function lackedPosition(error: unknown): number | undefined {
  if (!(error instanceof DatabaseError) || error.routine !== NO_PARTITION) return undefined;
  return Number(/= \((\d+)\)/.exec(error.detail ?? '')?.[1] ?? 0);
}

/** True for an error with which the server announces the end of the session; the connection may close later. */
export function endsSession(error: unknown): boolean {
  return endingStates.has(sqlState(error) ?? '');
}

/**
 * Translates the error of a failed COMMIT. Only an error that ends the transaction but not the session proves that nothing was kept.
 * After any other, such as a lost connection, the commit may have happened.
 */
export function toCommitError(error: unknown): unknown {
  const state = sqlState(error) ?? '';
  return rolledBackStates.has(state) || state.startsWith(INTEGRITY_CLASS) ? error : new EngineFailure(error);
}

const UNIQUE_VIOLATION = '23505';
/** Raised by our function count_records (migrations/quota-rooms.ts). */
const QUOTA_OF_RECORDS = 'CQ001';
const INTEGRITY_CLASS = '23';
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK_DETECTED = '40P01';
const QUERY_CANCELED = '57014';
const DISK_FULL = '53100';
const IO_ERROR = '58030';
/** The server is a standby, or a primary that became one. */
const READ_ONLY = '25006';
const FEATURE_NOT_SUPPORTED = '0A000';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_COLUMN = '42703';
const INVALID_STATEMENT_NAME = '26000';
/** The server's function that reports "cached plan must not change result type": its message is translated, its name is not. */
const STALE_PLAN = 'RevalidateCachedQuery';
/** The server's function that reports "no partition of relation … found for row". */
const NO_PARTITION = 'ExecFindPartition';

const endingStates = new Set([
  '25P03', // idle in transaction for too long
  '25P04', // transaction timeout
  '57P01', // ended by an operator
  '57P02', // another process of the server has crashed
  '57P03', // the server is not ready
  '57P05', // idle for too long
]);

/**
 * Limits of the server, with advice for the client. A transaction holds a lock for every table and index that it creates or drops,
 * about a dozen for a collection, in a space of `max_locks_per_transaction` times the connections. A table can have 1,600 columns in
 * its lifetime, dropped ones included.
 */
const noRoomStates = new Map([
  ['53200', 'The database has no room for so many changes at once: make them in several steps.'],
  ['54011', 'The table has had too many fields, deleted ones among them: make the collection anew.'],
]);

/** Classes of SQLSTATE: connection, authorization (a password was changed), resources, operator intervention, system. */
const unavailableClasses = new Set(['08', '28', '53', '57', '58']);
const unavailableStates = new Set([
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
  READ_ONLY,
  '25P03', // idle in transaction for too long
  '25P04', // transaction timeout
  '42501', // a right that the role needs and does not have
  '3D000', // the database is not there (any more)
  '55P03', // lock not available
  '72000', // snapshot too old
]);

const damagedStates = new Set([
  '58P01', // a file of the server's is missing
  'XX001', // data corrupted
  'XX002', // index corrupted
]);

/** Classes of errors that a client's value can cause: data exceptions, and exceeded limits of an index row or an expression. */
const refusedClasses = new Set(['22', '54']);

const rolledBackStates = new Set([
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
  '40002',
  QUERY_CANCELED,
  '25P02',
]);

/**
 * Makes the same UniqueViolation as on SQLite: with the columns if the index is over plain columns, else with its name. PostgreSQL
 * reports the columns only in a translated sentence, `Key (a, "B")=(1, 2) already exists.`, and not at all when the role may not see the
 * values.
 */
function toUniqueViolation(error: DatabaseError): UniqueViolation {
  const list = /\(((?:"(?:[^"]|"")*"|[^"])*?)\)=\(/s.exec(error.detail ?? '')?.[1];
  const columns = list === undefined ? undefined : toColumns(list);
  if (columns === undefined) return new UniqueViolation([], error.constraint, error);
  return new UniqueViolation(columns, undefined, error);
}

/** Splits a list of column names; undefined when an entry is an expression. */
function toColumns(list: string): readonly string[] | undefined {
  const name = String.raw`(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*)`;
  if (!new RegExp(`^${name}(?:, ${name})*$`, 'u').test(list)) return undefined;
  const names = list.match(new RegExp(name, 'gu')) ?? [];
  return names.map((each) => (each.startsWith('"') ? each.slice(1, -1).replaceAll('""', '"') : each));
}
