import {
  payloadOf,
  recordEventKinds,
  type RecordEventKind,
  type TransitionKind,
} from '../../events/event.ts';
import { eventMembers } from '../../events/event-values.ts';
import { limit, sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import { transitionOf } from '../transitions.ts';
import { type EventFilter, filterEvents } from './event-filter.ts';

/*
 * A feed with transitions: for each change, whether the record has come to meet the filter, or meets it no more. A filter of the feed reads
 * nothing but the bodies of events, so this follows from the body of the change and that of the change of the record before it. Unlike the
 * reader of an endpoint, one of the feed has no keys stored: it may begin anywhere in the log.
 */

/** A change that a reader of the feed is told of. */
export interface FedEvent {
  readonly position: number;
  /** Absent for the change itself. */
  readonly transition?: TransitionKind;
  /** For a leave: the event whose body has the last state that met the filter; absent where that is not known. */
  readonly before?: number;
  /** The length of that body; 0 where none is read. */
  readonly beforeBytes: number;
}

/** Returns those of these changes that a reader is told of, in their order. Bodies that were expunged are left out, as without transitions. */
export async function fedEvents(
  reader: Reader,
  filter: EventFilter,
  positions: readonly number[],
): Promise<readonly FedEvent[]> {
  const changes = await readChanges(reader, positions);
  const earlier = changes.flatMap(({ before }) => (before === undefined ? [] : [before]));
  const matching = new Set(await filterEvents(reader, filter, [...new Set([...positions, ...earlier])]));
  return changes.flatMap((change): readonly FedEvent[] => {
    const { position, kind, before } = change;
    if (change.isExpunged) return [];
    const isMatch = matching.has(position);
    if (before === undefined && kind === 'record.update')
      // Whether the reader has the record is not known: each of these is right for one that has, and for one that has not.
      return [isMatch ? { position, beforeBytes: 0 } : { position, transition: 'leave', beforeBytes: 0 }];
    const isHeld = before === undefined ? kind === 'record.delete' && isMatch : matching.has(before);
    const transition = transitionOf(kind, { isMatch, isHeld });
    if (transition === undefined) return [];
    if (transition !== 'leave' || before === undefined)
      return [{ position, ...(transition !== 'change' && { transition }), beforeBytes: 0 }];
    return [{ position, transition, before, beforeBytes: change.beforeBytes }];
  });
}

interface Change {
  readonly position: number;
  readonly kind: RecordEventKind;
  readonly isExpunged: boolean;
  /** The change of the record before this one, if the log has it and its body. A record that is made again begins anew. */
  readonly before: number | undefined;
  readonly beforeBytes: number;
}

async function readChanges(reader: Reader, positions: readonly number[]): Promise<readonly Change[]> {
  const { names } = reader;
  const table = names.table('$event');
  const rows = await reader.tuples(sql`
    SELECT e.position, e.kind, e.expunged, p.position, p.expunged, length(p.body) FROM ${table} e LEFT JOIN ${table} p
      ON ${names.instance.conditionOf('p')} AND e.kind <> 'record.create' AND p.position = (
        SELECT position FROM ${table} b WHERE ${names.instance.conditionOf('b')} AND b.record = e.record AND b.collection = e.collection
          AND b.position < e.position AND b.kind${names.anyOf(recordEventKinds)} ORDER BY b.position DESC${limit(1)})
    WHERE ${names.instance.conditionOf('e')} AND e.position${names.anyNumberOf(positions)} ORDER BY e.position`);
  return rows.flatMap(([position, text, expunged, before, expungedBefore, bytes]) => {
    const kind = recordEventKinds.find((one) => one === text);
    if (kind === undefined) return [];
    const isKnown = typeof before === 'number' && expungedBefore === null;
    return [
      {
        position: Number(position),
        kind,
        isExpunged: expunged !== null,
        before: isKnown ? before : undefined,
        beforeBytes: Number(bytes ?? 0),
      },
    ];
  });
}

/** Returns the payload of a transition: the change as if the record were created, or deleted with the state that it had before. */
export function transitionPayload(
  event: { readonly created: string; readonly collectionName: string; readonly record: string },
  transition: TransitionKind,
  { state, instanceId }: { readonly state: Uint8Array | undefined; readonly instanceId: string },
): Uint8Array {
  const data = state === undefined ? { id: event.record } : Object.fromEntries(eventMembers({ body: state }));
  return Buffer.from(payloadOf({ ...event, kind: transition, dataJson: JSON.stringify(data) }, instanceId));
}
