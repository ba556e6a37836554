import type { Caller } from '../access/caller.ts';
import type { ValueReader } from '../access/rule-input.ts';
import { unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import type { Timestamp } from '../base/timestamp.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import { emitsEvents } from '../collections/collection.ts';
import type { NewEvent, RecordEventKind } from '../events/event.ts';
import { recordTable } from './record-table.ts';
import type { WriteScope } from './record-write.ts';
import { recordToEventJson, type StoredRecord, valueOf } from './record.ts';

export interface NewChange {
  readonly kind: RecordEventKind;
  /** The state after it; for a deletion, the last state with the next revision. */
  readonly record: StoredRecord;
  /** The state before it; absent for a new record. */
  readonly before?: StoredRecord;
  readonly now: Timestamp;
}

/** Writes the event of a change in the transaction of the change. Throws bad_request where too many webhooks have led to it. */
export async function noteChange({ instance, input, tx }: WriteScope, change: NewChange): Promise<void> {
  const { kind, record, before, now } = change;
  const { collection } = record;
  if (!emitsEvents(collection)) return;
  const event: NewEvent = {
    kind,
    ...stateOf(record),
    created: now,
    ...hiddenOf(record),
    context: {
      actor: actorOf(input.caller, instance.collections),
      hops: hopsOf(input.headers),
      ...(kind === 'record.update' && before !== undefined && { changed: changedNames(before, record) }),
    },
  };
  await instance.events.note(tx, event, {
    change: {
      collection,
      after: record.values,
      ...(before && { before: before.values, beforeJson: () => recordToEventJson(before) }),
    },
    trace: input.trace,
  });
}

/** Returns the members of an event that describe its record. */
export function stateOf(
  record: StoredRecord,
): Pick<NewEvent, 'collection' | 'collectionName' | 'record' | 'revision' | 'dataJson'> {
  const { collection, revision } = record;
  return {
    collection: collection.id,
    collectionName: collection.name,
    record: String(valueOf(record, 'id')),
    revision,
    dataJson: recordToEventJson(record),
  };
}

function hiddenOf({ collection, values }: StoredRecord): Pick<NewEvent, 'hiddenJson'> | undefined {
  const { fields, hasHidden } = recordTable(collection);
  if (!hasHidden) return undefined;
  const members = fields.flatMap(({ isHidden, isSecret, name, toJson }, index) =>
    isHidden && !isSecret ? [`${JSON.stringify(name)}:${toJson(values[index] ?? null)}`] : [],
  );
  return { hiddenJson: `{${members.join(',')}}` };
}

/** Returns the name of the caller who caused a change, as receivers see it. */
export function actorOf(caller: Caller, collections: CollectionFinder): string {
  switch (caller.kind) {
    case 'guest':
      return 'guest';
    case 'user':
      return `${collections.find(caller.collectionId)?.name ?? caller.collectionId}/${caller.id}`;
    case 'superuser':
      if (caller.isOperator === true) return 'service';
      return caller.key === undefined ? 'superuser' : `key:${caller.id}`;
    default:
      return unreachable(caller);
  }
}

/** How many webhooks may follow from each other: more are a loop, in which each write causes the next. */
const hopsMax = 8;

/** Returns how many webhooks have led to this change: one more than the header of its request, which a receiver passes on. */
function hopsOf(headers: ValueReader): number {
  const before = headers.get('x_service_hops');
  if (before === null) return 1;
  if (!/^\d{1,9}$/.test(before))
    throw new AppError('bad_request', 'The header X-Service-Hops must be a whole number.');
  const hops = Number(before) + 1;
  if (hops > hopsMax) throw new AppError('bad_request', 'Too many hops.');
  return hops;
}

/** Returns the names of the fields that an update has changed, without hidden and autodate fields. */
function changedNames({ values }: StoredRecord, after: StoredRecord): readonly string[] {
  return recordTable(after.collection).fields.flatMap(({ isHidden, isSecret, name, field }, index) =>
    isHidden || isSecret || field.type === 'autodate' || values[index] === after.values[index] ? [] : [name],
  );
}
