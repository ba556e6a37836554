import type { Collection } from '../collections/collection.ts';
import { findOfRequest, findRecordEvent, readEventsAt } from '../events/record-events.ts';
import { type LoggedChange, readChanges } from '../deliveries/log/logged-changes.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import { relatedIds, type RelationField } from './record-table.ts';
import { referringTo } from './release-references.ts';

/** A record that a delete has changed or deleted as well, because it referred to the deleted one. */
export interface ReleasedRecord {
  readonly collection: string;
  readonly record: string;
  readonly kind: 'record.update' | 'record.delete';
  /** The id of its event, to which it can be reverted if it was deleted. */
  readonly event: string;
  /** The revision to which it can be reverted. */
  readonly revision: number;
}

const releasedMax = 100;
const readTogether = 50;

/**
 * Returns records that lost a reference to this one by its last delete, or were deleted with it: the last of them first, a hundred at most. Only
 * changes of the same request count, which the log knows by its trace. A record that was deleted because of one of these is not among them.
 */
export async function releasedBy(
  instance: Instance,
  collection: Collection,
  id: string,
): Promise<readonly ReleasedRecord[]> {
  const { database } = instance;
  const referring = new Map(referringTo(instance, collection).map((each) => [each.collection.id, each]));
  const key = { collection: collection.id, record: id };
  const position = await findRecordEvent(database, key, { by: 'time', time: latest });
  const [deletion] = position === undefined ? [] : await readEventsAt(database, [position]);
  if (deletion?.kind !== 'record.delete' || deletion.trace === '' || referring.size === 0) return [];
  const { trace } = deletion;
  const collections = [...referring.keys()];
  const positions = await findOfRequest(database, { collections, trace, before: deletion.position });
  const released: ReleasedRecord[] = [];
  for (let end = positions.length; end > 0 && released.length < releasedMax; end -= readTogether) {
    const events = await readEventsAt(database, positions.slice(Math.max(0, end - readTogether), end));
    for (const [name, ofCollection] of Map.groupBy(events, (event) => event.collection)) {
      const each = referring.get(name);
      if (each === undefined) continue;
      const at = ofCollection.map((event) => event.position);
      for (const change of await readChanges(database, each.collection, at))
        if (isReleased(change, each.relations, id)) released.push(toReleasedRecord(each.collection, change));
    }
  }
  return released.slice(0, releasedMax);
}

/** After every time of the log. */
const latest = '9999-12-31 23:59:59.999Z';

function isReleased(
  { before, after, kind }: LoggedChange,
  relations: readonly RelationField[],
  id: string,
): boolean {
  const refers = (values: readonly StoredValue[] | undefined): boolean =>
    relations.some((relation) => relatedIds(relation, values?.[relation.index] ?? null).includes(id));
  return refers(before) && (kind === 'record.delete' || !refers(after));
}

function toReleasedRecord({ name }: Collection, change: LoggedChange): ReleasedRecord {
  const { record, id: event, revision } = change;
  const isDelete = change.kind === 'record.delete';
  return {
    collection: name,
    record,
    kind: isDelete ? 'record.delete' : 'record.update',
    event,
    revision: revision - 1,
  };
}
