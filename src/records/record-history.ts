import { type Caller, requireReach } from '../access/caller.ts';
import { AppError, notFound } from '../base/errors.ts';
import { type Collection, emitsEvents } from '../collections/collection.ts';
import { eventMembers } from '../events/event-values.ts';
import { hasRecordEvents, readRecordEvents, type RecordEvent } from '../events/record-events.ts';
import { readTrimmed } from '../events/trimmed.ts';
import { hasColumn } from '../fields/field.ts';
import { currentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { parameterError } from '../query/list-parameters.ts';
import type { ListQuery } from '../query/list-query.ts';
import { cursorsOfList } from '../secrets/seal-position.ts';
import { findRecord } from './find-record.ts';

/** A change of a record with the values that it left. */
export interface RecordVersion {
  /** The id of its event. */
  readonly id: string;
  readonly kind: string;
  readonly revision: number;
  readonly created: string;
  readonly actor: string;
  /** The visible fields that an update has changed. */
  readonly changed: readonly string[];
  readonly expunged: string;
  /** The values after it, of a deletion the last ones; null where they were expunged. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

export interface RecordHistory {
  readonly items: readonly RecordVersion[];
  readonly perPage: number;
  readonly nextCursor: string | null;
  /** The revision of the record now; 0 where it does not exist. */
  readonly revision: number;
  /** The time up to which the log is not kept any more; empty where it is whole. */
  readonly trimmed: string;
}

export interface HistoryRequest {
  readonly caller: Caller;
  readonly collection: string;
  readonly id: string;
  readonly query: Pick<ListQuery, 'perPage' | 'cursor'>;
}

/** Returns a page of the changes of a record that the log has, the newest first. Throws not_found, forbidden, bad_request. */
export async function readHistory(
  instance: Instance,
  { caller, collection: name, id, query }: HistoryRequest,
): Promise<RecordHistory> {
  const { database, sealer } = instance;
  const collection = await loggedCollection(instance, name, caller);
  const key = { collection: collection.id, record: id };
  const cursors = cursorsOfList(sealer, ['history', collection.id, id]);
  const { perPage, cursor = '' } = query;
  const opened = cursor === '' ? String(Number.MAX_SAFE_INTEGER) : cursors.open(cursor);
  if (opened === undefined) throw parameterError('cursor', 'Expected a cursor of this list.');
  const { events, next } = await readRecordEvents(database, key, { before: Number(opened), perPage });
  const existing = await findRecord(database, collection, id);
  if (existing === undefined && events.length === 0 && !(await hasRecordEvents(database, key)))
    throw notFound();
  return {
    items: events.map((event) => toVersion(collection, event)),
    perPage,
    nextCursor: next === undefined ? null : cursors.seal(String(next)),
    revision: existing?.revision ?? 0,
    trimmed: (await readTrimmed(database)).time,
  };
}

/** Returns a collection whose changes are in the log. Throws not_found, forbidden, bad_request. */
export async function loggedCollection(
  instance: Instance,
  name: string,
  caller: Caller,
): Promise<Collection> {
  const collection = await currentCollection(instance, name);
  requireReach(caller, collection);
  if (emitsEvents(collection)) return collection;
  throw new AppError('bad_request', `Changes of ${collection.name} are not in the event log.`);
}

function toVersion(collection: Collection, event: RecordEvent): RecordVersion {
  const { id, kind, revision, created, expunged, state, context } = event;
  return {
    id,
    kind,
    revision,
    created,
    actor: context?.actor ?? '',
    changed: context?.changed ?? [],
    expunged,
    data: state === undefined ? null : dataOf(collection, eventMembers(state)),
  };
}

/** Leaves out what is a secret by now: its field may have been a text before. */
function dataOf(
  { fields }: Collection,
  members: ReadonlyMap<string, unknown>,
): Readonly<Record<string, unknown>> {
  const secrets = new Set(fields.flatMap((field) => (hasColumn(field) ? [] : [field.name])));
  return Object.fromEntries([...members].filter(([name]) => !secrets.has(name)));
}
