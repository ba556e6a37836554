import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../query/record-scope.ts';
import { type BoundRule, statementOf } from '../query/rule-plan.ts';
import { sql, type Sql, withValues } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { recordTable } from './record-table.ts';
import { fromTuple, type StoredRecord } from './record.ts';

/** A record by its exact id, or undefined. */
export function findRecord(
  reader: Reader,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectById } = recordTable(collection).statements(reader.names);
  return first(reader, collection, withValues(selectById, [id]));
}

/** As {@link findRecord}; the row is locked and stays as it is until the transaction ends. */
export function findRecordToChange(
  tx: Transaction,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectToChange } = recordTable(collection).statements(tx.names);
  return findToLock(tx, collection, withValues(selectToChange, [id]));
}

/** As {@link findRecordToChange}; and until the transaction ends no other can begin to refer to the record. */
export function findRecordToDelete(
  tx: Transaction,
  collection: Collection,
  id: string,
): Promise<StoredRecord | undefined> {
  const { selectById } = recordTable(collection).statements(tx.names);
  return findToLock(tx, collection, withValues(sql`${selectById}${tx.names.locks.forDelete}`, [id]));
}

/** Runs a locking statement whose only value is the id. */
async function findToLock(
  tx: Transaction,
  collection: Collection,
  statement: Sql,
): Promise<StoredRecord | undefined> {
  const lock = async (): Promise<StoredRecord | undefined> => {
    const [tuple] = await tx.tuples(statement);
    return tuple === undefined ? undefined : fromTuple(collection, tuple);
  };
  const locked = await lock();
  if (locked !== undefined) return locked;
  const { selectById } = recordTable(collection).statements(tx.names);
  return lockAll<StoredRecord | undefined>(tx, undefined, {
    lock,
    isWhole: (record) => record !== undefined,
    look: () => first(tx, collection, withValues(selectById, statement.values)),
  });
}

async function first(
  reader: Reader,
  collection: Collection,
  statement: Sql,
): Promise<StoredRecord | undefined> {
  // A view takes as long as its query.
  const isView = collection.type === 'view';
  const [tuple] = await (isView ? reader.search(statement) : reader.tuples(statement));
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}

/** Returns the record with this exact id if the rule is true of it. */
export async function findAllowed(
  reader: Reader,
  rule: BoundRule,
  id: string,
): Promise<StoredRecord | undefined> {
  const { collection, constant } = rule.plan;
  if (constant !== undefined) return constant ? findRecord(reader, collection, id) : undefined;
  const { columns, from } = recordTable(collection).statements(reader.names).joined;
  const make = (): Sql => sql`SELECT ${columns} FROM ${from} WHERE ${baseAlias}.id = ${null}`;
  const [tuple] = await reader.search(statementOf(rule, { form: 'columns', make, values: [id] }));
  return tuple === undefined ? undefined : fromTuple(collection, tuple);
}

interface Locking<Rows> {
  /** Locks the rows and returns those that are there. */
  readonly lock: () => Promise<Rows>;
  /** Reads the same rows without a lock. */
  readonly look: () => Promise<Rows>;
  /** Whether nothing is missing. */
  readonly isWhole: (rows: Rows) => boolean;
}

/**
 * Locks rows that the first try, which returned `rows`, may have missed. On PostgreSQL a statement that waited for a row lock
 * skips the row if it was deleted meanwhile, even when the deleting transaction has inserted it again: the new row is younger
 * than the statement's snapshot, yet the record existed all the time. So while rows are missing they are read without a lock, and
 * locked if they are there. SQLite has one writer and does not need this.
 */
export async function lockAll<Rows>(
  { names }: Transaction,
  rows: Rows,
  { lock, look, isWhole }: Locking<Rows>,
): Promise<Rows> {
  if (!names.isConcurrent) return rows;
  let locked = rows;
  while (!isWhole(locked) && isWhole(await look())) locked = await lock();
  return locked;
}
