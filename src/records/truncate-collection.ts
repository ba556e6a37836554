import { AppError } from '../base/errors.ts';
import { type Collection, superusersName } from '../collections/collection.ts';
import { fieldColumn } from '../fields/field.ts';
import type { Instance } from '../instances/instance.ts';
import { requireReach } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader, Transaction } from '../storage/database.ts';
import { eraseRecord } from './save-record.ts';
import { recordTable } from './record-table.ts';
import { fromTuple } from './record.ts';
import { withCurrentCollection } from '../instances/current-collection.ts';

const truncatedView = "View collections cannot be truncated since they don't store their own records.";
const FAILED = 'Failed to truncate collection';

/** Few enough that other writers wait no longer for such a transaction than for a few of their own. */
const RECORDS_PER_TRANSACTION = 200;

/**
 * Deletes all records of a collection, oldest first, each with its event. Works in several transactions, so that neither other
 * writers nor memory bear the whole at once: what was deleted before a failure stays deleted, and a second call resumes there.
 * Records created meanwhile stay. Throws not_found (collection), forbidden (an API key that does not reach it),
 * bad_request (records that stay refer to these).
 */
export async function truncateCollection(
  instance: Instance,
  input: RuleInput,
  nameOrId: string,
): Promise<void> {
  const { database } = instance;
  const { id, end } = await withCurrentCollection(instance, nameOrId, async (collection) => {
    requireReach(input.caller, collection);
    if (collection.type === 'view') throw new AppError('bad_request', truncatedView);
    return { id: collection.id, end: await lastPosition(database, collection) };
  });
  let isBegun = false;
  const deleteSome = async (tx: Transaction): Promise<boolean> => {
    const collection = instance.collections.get(id);
    if (collection.name === superusersName)
      throw new AppError('bad_request', `${FAILED}. Without superusers nobody could get in.`);
    const { table, columns } = recordTable(collection).statements(tx.names);
    const tuples = await tx.tuples(
      sql`SELECT ${columns} FROM ${table} WHERE "$position" <= ${end} ORDER BY "$position"${limit(RECORDS_PER_TRANSACTION)}${tx.names.locks.forDelete}`,
    );
    // Checked after the rows are locked: from then on no other transaction can begin to refer to them.
    await refuseReferred(tx, { collection, end }, instance.collections.all());
    const records = tuples.map((tuple) => fromTuple(collection, tuple));
    await tx.inOrder(records.map((record) => () => eraseRecord({ instance, input, tx }, record)));
    const entry = { action: 'collection.truncate', collection: id } as const;
    if (!isBegun) await instance.audit.append(tx, input, entry);
    return records.length < RECORDS_PER_TRANSACTION;
  };
  for (let isDone = false; !isDone; isBegun = true) isDone = await database.write(deleteSome);
}

async function lastPosition(reader: Reader, collection: Collection): Promise<number> {
  const { table } = recordTable(collection).statements(reader.names);
  const [row] = await reader.tuples(sql`SELECT max("$position") FROM ${table}`);
  return Number(row?.[0] ?? 0);
}

interface TruncatedRange {
  readonly collection: Collection;
  /** The position of the last record that goes. */
  readonly end: number;
}

/** Throws bad_request when a record that stays refers to one that is deleted: only its owner knows how to resolve that. */
async function refuseReferred(
  reader: Reader,
  truncated: TruncatedRange,
  candidates: readonly Collection[],
): Promise<void> {
  const referring: string[] = [];
  for (const other of candidates) {
    if (other.type === 'view') continue;
    const condition = staysAndRefers(reader.names, truncated, other);
    if (condition === undefined) continue;
    const { table } = recordTable(other).statements(reader.names);
    const row = await reader.get(sql`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`);
    if (row !== undefined) referring.push(other.name);
  }
  if (referring.length === 0) return;
  const names = referring.join(', ');
  throw new AppError('bad_request', `${FAILED} probably due to existing reference in ${names}.`);
}

/**
 * Returns the condition for records of `other` that stay and refer to the truncated collection; undefined where no relation leads
 * there. Of the truncated collection itself only records made meanwhile stay.
 */
function staysAndRefers(
  names: Names,
  { collection, end }: TruncatedRange,
  other: Collection,
): Sql | undefined {
  const conditions = other.fields
    .filter(({ type, options }) => type === 'relation' && options['collectionId'] === collection.id)
    .map((field) => {
      const column = names.column(field.name);
      return fieldColumn(field) === 'json' ? sql`${column} <> '[]'` : sql`${column} <> ''`;
    });
  if (conditions.length === 0) return undefined;
  const refers = joinSql(conditions, ' OR ');
  return other.id === collection.id ? sql`"$position" > ${end} AND (${refers})` : refers;
}
