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
  holding,
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
 * Does a part of a job, in one transaction, and returns the job as it is then. Throws bad_request for what refuses the delete: the
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
 * Looks at the records that refer to those that go, in the order in which these were found: some go with them, which are looked at in their
 * turn, and one that must keep its reference refuses the whole. Changes no record.
 */
async function check(scope: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  const { tx, instance } = scope;
  const isLate = lateAfter(scope);
  let { found, checked, atCollection, atPosition } = job;
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
        { job: job.id, leaving, found },
        { ...each, after, max: rowsMax - rows },
      );
      found = part.found;
      rows += part.rows;
      [atCollection, atPosition] = [each.collection.id, part.position];
      if (rows >= rowsMax) return { ...job, found, checked, atCollection, atPosition };
    }
    if (collection?.name === superusersName) await requireSuperuserThatStays(scope);
    [checked, atCollection, atPosition] = [leaving.position + 1, '', 0];
    if (isLate()) break;
  }
  const state = checked === found ? 'running' : 'checking';
  return { ...job, state, found, checked, atCollection, atPosition };
}

interface Part {
  readonly found: number;
  /** Rows that were looked at, and the position of the last. */
  readonly rows: number;
  readonly position: number;
}

async function checkReferring(
  scope: WriteScope,
  { job, leaving, found }: { readonly job: string; readonly leaving: LeavingRecord; readonly found: number },
  { collection, places, after, max }: Referring & { readonly after: number; readonly max: number },
): Promise<Part> {
  const { tx } = scope;
  const { names } = tx;
  const { table } = recordTable(collection).statements(names);
  // Of the values only those that refer: a record may be large.
  const columns = places.map(({ field }) => sql`, ${names.column(field.name)}`);
  const selected = columns.reduce((all, column) => sql`${all}${column}`, sql`id, "$position"`);
  const referring = sql`
    SELECT ${selected} FROM ${table} WHERE "$position" > ${after} AND ${staysHere(names, collection)}
      AND ${mayRefer(names, places, leaving.record)}
    ORDER BY "$position" LIMIT CAST(${max} AS bigint)`;
  const rows = await tx.search(referring, { isExempt: true });
  let count = found;
  for (const row of rows) {
    const id = String(row[0]);
    const fate = await judge(scope, { places, leaving, row });
    if (fate === undefined) continue;
    if (fate !== 'goes') throw await stillReferred(scope, { collection, id }, { field: fate });
    if (await addLeaving(tx, job, { collection: collection.id, record: id, position: count })) count += 1;
  }
  return { found: count, rows: rows.length, position: Number(rows.at(-1)?.[1] ?? after) };
}

interface ReferringRow extends Pick<Referring, 'places'> {
  readonly leaving: LeavingRecord;
  /** Id, position, and the values of the places. */
  readonly row: Tuple;
}

/** Returns whether a record goes, or the field that refuses that; undefined where it only loses a reference. */
async function judge(
  { tx }: WriteScope,
  { places, leaving, row }: ReferringRow,
): Promise<'goes' | Referring['places'][number]['field'] | undefined> {
  for (const [index, place] of places.entries()) {
    const value = row[index + 2] ?? null;
    const ids = relatedIds(place, typeof value === 'string' ? value : null);
    const others = ids.filter((id) => id !== leaving.record);
    if (others.length === ids.length) continue;
    const gone = await leavingAmong(tx, leaving.collection, others);
    if (others.length > gone.size) continue;
    if (place.options.cascadeDelete) return 'goes';
    if (place.options.required) return place.field;
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

/** Deletes records, those that were found last first, so that none is gone to which another still refers. */
async function deleteSome(scope: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  const { tx, instance } = scope;
  const progress = { found: job.found, deleted: job.deleted, changed: job.changed };
  const isLate = lateAfter(scope);
  const touched = (): number =>
    progress.deleted + progress.changed + progress.found - job.deleted - job.changed - job.found;
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

/** Returns what tells whether a step that begins now has taken long. */
function lateAfter({ instance: { clock }, tx }: WriteScope): () => boolean {
  const startMs = clock.monotonic();
  return () => !tx.names.isConcurrent && clock.monotonic() - startMs > stepMsMax;
}

interface ReleasePart {
  readonly job: string;
  readonly progress: { found: number; deleted: number; changed: number };
  readonly max: number;
}

/** Takes the record out of those that refer to it and stay. Returns `more` where it has to be called again. */
async function releaseSome(
  scope: WriteScope,
  record: StoredRecord,
  { job, progress, max }: ReleasePart,
): Promise<'more' | 'none'> {
  const { tx, instance } = scope;
  let hasMore = false;
  for (const { collection, places } of referringTo(instance, record.collection)) {
    const { table } = recordTable(collection).statements(tx.names);
    const referring = sql`
      SELECT id FROM ${table} WHERE ${staysHere(tx.names, collection)} AND ${mayRefer(tx.names, places, idOf(record))}
      ORDER BY "$position" LIMIT CAST(${max} AS bigint)`;
    const rows = await tx.search(referring, { isExempt: true });
    for (const [id] of rows) {
      const other = await findRecordToDelete(tx, collection, String(id));
      const change = other && withoutReference(other, places, idOf(record));
      if (other === undefined || change === undefined) continue;
      hasMore = true;
      if (change === 'delete') {
        // It has come to refer to the record since the check.
        await addLeaving(tx, job, {
          collection: collection.id,
          record: String(id),
          position: progress.found,
        });
        progress.found += 1;
      } else if (change.kind === 'refused') throw await stillReferred(scope, holding(other), change);
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

/** Forgets what was found, once the job has failed. */
async function forgetSome({ tx }: WriteScope, job: RemovalJob): Promise<RemovalJob> {
  const some = await lastLeaving(tx, job.id, rowsMax);
  for (const leaving of some) await removeLeaving(tx, leaving);
  return some.length < rowsMax ? { ...job, state: 'failed' } : job;
}
