import { unreachable } from '../base/assert.ts';
import { superusersName } from '../collections/collection.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { lastSuperuser, requireAnotherSuperuser } from './check-account.ts';
import { findRecordToDelete } from './find-record.ts';
import { recordTable, relatedIds } from './record-table.ts';
import type { WriteScope } from './record-write.ts';
import type { StoredRecord } from './record.ts';
import {
  referringRecord,
  idOf,
  mayRefer,
  type Referring,
  referringTo,
  saveReduced,
  stillReferred,
  withoutReference,
} from './release-references.ts';
import {
  addLeaving,
  lastLeaving,
  leavingAmong,
  leavingFrom,
  type LeavingRecord,
  type RemovalJob,
  removeLeaving,
  staysHere,
} from './removal-store.ts';
import { eraseRecord } from './save-record.ts';

/** Rows that one step looks at, and records that it changes or deletes. All other writers wait for a step on SQLite. */
const rowsMax = 1_000;
const touchedMax = 200;
/**
 * After how long a step ends on SQLite, where everybody waits for it: without an index on a relation, each record is looked for in the whole
 * table that refers to it.
 */
const stepMsMax = 50;

/**
 * Does a part of a job, in one transaction, and returns the job as it is then. Throws bad_request when the delete is rejected: the
 * transaction then leaves the job as it was.
 */
export function runStep(scope: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  switch (job.state) {
    case 'checking':
      return check(scope, job);
    case 'running':
      return deleteSome(scope, job);
    case 'stopping':
      return forgetSome(scope, job);
    case 'done':
    case 'failed':
      return Promise.resolve(job);
    default:
      return unreachable(job.state);
  }
}

/**
 * Looks at the records that refer to those that go, in the order of discovery: some are deleted with them, and are
 * checked in their turn; one that must keep its reference rejects the delete. Changes no record.
 */
async function check(scope: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  const { tx, instance } = scope;
  const isLate = lateAfter(scope);
  let { leavingCount, checked, atCollection, atPosition } = job;
  let rows = 0;
  const next = await leavingFrom(tx, job.id, { position: checked, max: rowsMax });
  for (const leaving of next) {
    const collection = instance.collections.find(leaving.collection);
    const referring = collection === undefined ? [] : referringTo(instance, collection);
    // In an order that stays the same when the job goes on in another process.
    const ordered = referring.toSorted((one, other) => (one.collection.id < other.collection.id ? -1 : 1));
    for (const each of ordered) {
      if (each.collection.id < atCollection) continue;
      const after = each.collection.id === atCollection ? atPosition : 0;
      const part = await checkReferring(
        scope,
        { job: job.id, leaving, leavingCount },
        { ...each, after, max: rowsMax - rows },
      );
      leavingCount = part.leavingCount;
      rows += part.rows;
      [atCollection, atPosition] = [each.collection.id, part.position];
      if (rows >= rowsMax) return { ...job, leavingCount, checked, atCollection, atPosition };
    }
    if (collection?.name === superusersName) await requireSuperuserThatStays(scope);
    [checked, atCollection, atPosition] = [leaving.position + 1, '', 0];
    if (isLate()) break;
  }
  const state = checked === leavingCount ? 'running' : 'checking';
  return { ...job, state, leavingCount, checked, atCollection, atPosition };
}

interface Part {
  readonly leavingCount: number;
  /** Rows that were looked at, and the position of the last. */
  readonly rows: number;
  readonly position: number;
}

async function checkReferring(
  scope: WriteScope,
  {
    job,
    leaving,
    leavingCount,
  }: { readonly job: string; readonly leaving: LeavingRecord; readonly leavingCount: number },
  { collection, relations, after, max }: Referring & { readonly after: number; readonly max: number },
): Promise<Part> {
  const { tx } = scope;
  const { names } = tx;
  const { table } = recordTable(collection).statements(names);
  // Only the values that refer: a record may be large.
  const columns = relations.map(({ field }) => sql`, ${names.column(field.name)}`);
  const selected = columns.reduce((all, column) => sql`${all}${column}`, sql`id, "$position"`);
  const referring = sql`
    SELECT ${selected} FROM ${table} WHERE "$position" > ${after} AND ${staysHere(names, collection)}
      AND ${mayRefer(names, relations, leaving.record)}
    ORDER BY "$position" LIMIT CAST(${max} AS bigint)`;
  const rows = await tx.search(referring, { isExempt: true });
  let count = leavingCount;
  for (const row of rows) {
    const id = String(row[0]);
    const disposition = await dispositionOf(scope, { relations, leaving, row });
    if (disposition === undefined) continue;
    if (disposition !== 'goes') throw await stillReferred(scope, { collection, id }, { field: disposition });
    if (await addLeaving(tx, job, { collection: collection.id, record: id, position: count })) count += 1;
  }
  return { leavingCount: count, rows: rows.length, position: Number(rows.at(-1)?.[1] ?? after) };
}

interface ReferringRow extends Pick<Referring, 'relations'> {
  readonly leaving: LeavingRecord;
  /** Id, position, and the values of the relations. */
  readonly row: Tuple;
}

/** Returns whether a record goes, or the field that refuses that; undefined where it only loses a reference. */
async function dispositionOf(
  { tx }: WriteScope,
  { relations, leaving, row }: ReferringRow,
): Promise<'goes' | Referring['relations'][number]['field'] | undefined> {
  for (const [index, relation] of relations.entries()) {
    const value = row[index + 2] ?? null;
    const ids = relatedIds(relation, typeof value === 'string' ? value : null);
    const others = ids.filter((id) => id !== leaving.record);
    if (others.length === ids.length) continue;
    const leavingOthers = await leavingAmong(tx, leaving.collection, others);
    if (others.length > leavingOthers.size) continue;
    if (relation.options.cascadeDelete) return 'goes';
    if (relation.options.required) return relation.field;
  }
  return undefined;
}

/** Throws bad_request if all superusers go: nobody could get in. */
async function requireSuperuserThatStays({ tx, instance }: WriteScope): Promise<void> {
  const { names } = tx;
  const superusers = instance.collections.get(superusersName);
  const table = names.collectionTable(superusersName);
  const rows = await tx.tuples(sql`SELECT 1 FROM ${table} WHERE ${staysHere(names, superusers)} LIMIT 1`);
  if (rows.length === 0) throw lastSuperuser();
}

/** Deletes records, the last discovered first, so that no record disappears to which another still refers. */
async function deleteSome(scope: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  const { tx, instance } = scope;
  const progress = { leavingCount: job.leavingCount, deleted: job.deleted, changed: job.changed };
  const isLate = lateAfter(scope);
  const touched = (): number =>
    progress.deleted +
    progress.changed +
    progress.leavingCount -
    job.deleted -
    job.changed -
    job.leavingCount;
  while (touched() < touchedMax && !(touched() > 0 && isLate())) {
    const [leaving] = await lastLeaving(tx, job.id, 1);
    if (leaving === undefined) return { ...job, ...progress, state: 'done' };
    const collection = instance.collections.find(leaving.collection);
    const record = collection && (await findRecordToDelete(tx, collection, leaving.record));
    if (record !== undefined) {
      const max = touchedMax - (progress.deleted + progress.changed - job.deleted - job.changed);
      const left = await releaseSome(scope, record, { job: job.id, progress, max });
      if (left === 'more') continue;
      if (record.collection.name === superusersName) await requireAnotherSuperuser(tx);
      await eraseRecord(scope, record);
      progress.deleted += 1;
    }
    await removeLeaving(tx, leaving);
  }
  return { ...job, ...progress };
}

/** Returns a check whether a step that begins now has taken long. */
function lateAfter({ instance: { clock }, tx }: WriteScope): () => boolean {
  const startMs = clock.monotonic();
  return () => !tx.names.isConcurrent && clock.monotonic() - startMs > stepMsMax;
}

interface ReleasePart {
  readonly job: string;
  readonly progress: { leavingCount: number; deleted: number; changed: number };
  readonly max: number;
}

/** Removes the references to the record from those that stay. Returns `more` where it has to be called again. */
async function releaseSome(
  scope: WriteScope,
  record: StoredRecord,
  { job, progress, max }: ReleasePart,
): Promise<'more' | 'none'> {
  const { tx, instance } = scope;
  let hasMore = false;
  for (const { collection, relations } of referringTo(instance, record.collection)) {
    const { table } = recordTable(collection).statements(tx.names);
    const referring = sql`
      SELECT id FROM ${table} WHERE ${staysHere(tx.names, collection)} AND ${mayRefer(tx.names, relations, idOf(record))}
      ORDER BY "$position" LIMIT CAST(${max} AS bigint)`;
    const rows = await tx.search(referring, { isExempt: true });
    for (const [id] of rows) {
      const other = await findRecordToDelete(tx, collection, String(id));
      const change = other && withoutReference(other, relations, idOf(record));
      if (other === undefined || change === undefined) continue;
      hasMore = true;
      if (change === 'delete') {
        // It has come to refer to the record since the check.
        await addLeaving(tx, job, {
          collection: collection.id,
          record: String(id),
          position: progress.leavingCount,
        });
        progress.leavingCount += 1;
      } else if (change.kind === 'refused') throw await stillReferred(scope, referringRecord(other), change);
      else {
        await saveReduced(scope, other, change);
        progress.changed += 1;
      }
    }
    // Those that are behind them, and what they lead to, come first.
    if (hasMore) return 'more';
  }
  return 'none';
}

/** Deletes the list of leaving records, once the job has failed. */
async function forgetSome({ tx }: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  const some = await lastLeaving(tx, job.id, rowsMax);
  for (const leaving of some) await removeLeaving(tx, leaving);
  return some.length < rowsMax ? { ...job, state: 'failed' } : job;
}
