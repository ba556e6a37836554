import type { QueryClient } from '@tanstack/react-query';
import { call, type Collection, Failure } from '../../api/client.ts';
import { recordQuery, type RecordChanges, type RevisedRecord, updateRecord } from '../../api/records.ts';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { doSteps, readPages, type Step, type Target, type WorkOptions } from './bulk-work.ts';
import { refreshRecords, showChange } from './live-rows.ts';

/** A change of this session. It is undone only where the record is still what it has left. */
type Change =
  | {
      readonly kind: 'edit';
      readonly id: string;
      readonly before: RecordChanges;
      /** Its revisions before and after. */
      readonly from: string;
      readonly to: string;
    }
  | {
      readonly kind: 'edits';
      readonly before: ValuesById;
      readonly after: ValuesById;
    }
  | { readonly kind: 'deletes'; readonly ids: readonly string[] };

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { kind: Kind }>;
type ValuesById = ReadonlyMap<string, RecordChanges>;

interface Entry {
  readonly collection: Collection;
  readonly change: Change;
}

const entriesMax = 50;
/** Changes of more records cannot be undone: each is read before, and written one by one afterwards. */
export const undoRecordsMax = 500;
/** Of this page, the last one at the end. A reload forgets them. */
const entries: Entry[] = [];

/** Says what was done, with a button that undoes it. */
export function offerUndo(queries: QueryClient, entry: Entry, text: string): void {
  entries.push(entry);
  if (entries.length > entriesMax) entries.shift();
  showToast(text, 'ok', { label: 'Undo', run: () => void inTurn(async () => undo(queries, entry)) });
}

/** Undoes the last change of a collection. Says where there is none. */
export function undoLast(queries: QueryClient, { id }: Collection): Promise<void> {
  return inTurn(async () => {
    const entry = entries.findLast(({ collection }) => collection.id === id);
    if (entry === undefined) showToast('Nothing to undo.');
    else await undo(queries, entry);
  });
}

let lastUndo = Promise.resolve();

/** Runs one undo at a time: each makes the revision that the next one expects. One that fails keeps no other from running. */
function inTurn(work: () => Promise<void>): Promise<void> {
  const turn = lastUndo.then(work);
  lastUndo = turn.catch(() => undefined);
  return turn;
}

interface SavedEdit {
  readonly collection: Collection;
  readonly before: RevisedRecord;
  readonly after: RevisedRecord;
  readonly changes: RecordChanges;
}

/** Says that an edit was saved. What replaced files or passwords cannot be undone, as nobody has them any more. */
export function offerUndoOfEdit(
  queries: QueryClient,
  { collection, before, after, changes }: SavedEdit,
): void {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(changes)) {
    const type = collection.fields.find((field) => field.name === name)?.type;
    if (type === undefined || type === 'file' || type === 'password') return showToast('Saved.');
    values[name] = before.record[name];
  }
  const change = {
    kind: 'edit',
    id: after.record.id,
    before: values,
    from: before.etag,
    to: after.etag,
  } as const;
  return offerUndo(queries, { collection, change }, 'Saved.');
}

async function undo(queries: QueryClient, entry: Entry): Promise<void> {
  const at = entries.indexOf(entry);
  // Its button may be pressed twice.
  if (at < 0) return;
  entries.splice(at, 1);
  const { collection, change } = entry;
  try {
    if (change.kind === 'edit') await undoEdit(queries, collection, change);
    else if (change.kind === 'edits') await undoEdits(collection, change);
    else await undelete(collection, change.ids);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    showToast(`Not undone. ${reason}`, 'failed');
  } finally {
    if (change.kind !== 'edit') await refreshRecords(queries, collection.name);
  }
}

async function undoEdit(queries: QueryClient, { name }: Collection, change: ChangeOf<'edit'>): Promise<void> {
  const { id, before, from, to } = change;
  const saved = await orStale(updateRecord({ collection: name, id, etag: to }, before));
  queries.setQueryData(recordQuery(name, id).queryKey, saved);
  showChange(queries, name, saved.record);
  // What led to the revision that it has replaced leads here now, and can be undone next.
  for (const [index, other] of entries.entries())
    if (other.change.kind === 'edit' && other.change.id === id && other.change.to === from)
      entries[index] = { ...other, change: { ...other.change, to: saved.etag } };
  showToast(`${Object.keys(before).join(', ')} of ${id} undone.`);
}

async function orStale(saving: Promise<RevisedRecord>): Promise<RevisedRecord> {
  try {
    return await saving;
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 412) throw error;
    throw new Error('The record has changed since.', { cause: error });
  }
}

/** Reads some fields of records, by id. */
export async function readValues(
  options: Pick<WorkOptions, 'collection' | 'signal'>,
  target: Target,
  names: readonly string[],
): Promise<ValuesById> {
  const values = new Map<string, RecordChanges>();
  for await (const page of readPages(options, target, ['id', ...names].join(',')))
    for (const record of page)
      values.set(record.id, Object.fromEntries(names.map((name) => [name, record[name]])));
  return values;
}

/** A list has no revisions: a record whose values are no longer those that were set is left as it is. */
async function undoEdits({ name }: Collection, { before, after }: ChangeOf<'edits'>): Promise<void> {
  const options = { collection: name, signal: new AbortController().signal };
  const [[, first = {}] = []] = after;
  const current = await readValues(options, { kind: 'ids', ids: [...after.keys()] }, Object.keys(first));
  const steps = [...after].flatMap(([id, values]): readonly Step[] => {
    const isFit = JSON.stringify(current.get(id)) === JSON.stringify(values);
    return isFit ? [{ kind: 'update', id, subject: id, body: before.get(id) ?? {} }] : [];
  });
  const { done } = await doSteps(once(steps), { ...options, onProgress: () => {} });
  const stale = after.size - done;
  const note = stale === 0 ? '' : ` ${plural(stale, 'record')} changed since, left as is.`;
  showToast(`${plural(done, 'record')} changed back.${note}`, stale === 0 ? 'ok' : 'failed');
}

async function* once(steps: readonly Step[]): AsyncGenerator<readonly Step[]> {
  yield await Promise.resolve(steps);
}

/** Brings records back from the event log, and says what it cannot bring back. */
async function undelete({ name }: Collection, ids: readonly string[]): Promise<void> {
  const lost = new Set<string>();
  const problems: string[] = [];
  let released = 0;
  for (const id of ids) {
    try {
      const answer = await undeleteOne(name, id);
      for (const { field, reason } of answer.notRestored) if (reason !== 'set_by_service') lost.add(field);
      released += answer.released.length;
    } catch (error) {
      // What is not about this record would be the same for each of them.
      if (error instanceof Failure && (error.status === 0 || error.status >= 500)) throw error;
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const done = ids.length - problems.length;
  const notes = [
    done > 0 && `${ids.length === 1 ? ids[0] : plural(done, 'record')} restored.`,
    problems.length > 0 && `${plural(problems.length, 'record')} not restored: ${problems[0]}`,
    lost.size > 0 && `Not brought back: ${[...lost].join(', ')}.`,
    released > 0 && `${plural(released, 'record')} changed by the deletion stay as they are.`,
  ];
  showToast(notes.filter((note) => note !== false).join(' '), problems.length > 0 ? 'failed' : 'ok');
}

async function undeleteOne(collection: string, id: string) {
  const path = { collection, id };
  const query = { perPage: 1, fields: 'items.id,items.kind' };
  const { items } = await call('GET /api/collections/{collection}/records/{id}/history', { path, query });
  const [last] = items;
  if (last?.kind !== 'record.delete')
    throw new Error(`The event log has no deletion of ${id}, or it exists again.`);
  return call('POST /api/collections/{collection}/records/{id}/revert', { path, body: { to: last.id } });
}
