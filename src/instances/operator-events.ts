import { isDeepStrictEqual } from 'node:util';
import { newTimeOrderedId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { nextCount, type StoredInstance } from './instance-rows.ts';

/** What the operator's programs can follow: what became of an instance. */
export const operatorEventKinds = [
  'instance.created',
  'instance.renamed',
  'instance.updated',
  'instance.suspended',
  'instance.resumed',
  'instance.deleted',
  'instance.restored',
  'instance.removed',
  'quota.warning',
  'quota.reached',
  'disk.low',
  'disk.recovered',
  'backup.created',
  'backup.restored',
  'backup.verified',
  'backup.failed',
] as const;

export type OperatorEventKind = (typeof operatorEventKinds)[number];

/** An event before it has a place in the log. */
export interface NewOperatorEvent {
  readonly kind: OperatorEventKind;
  /** What the instance is known by (`shownId`); empty for what is about no instance. */
  readonly instance: string;
  readonly data: JsonObject;
}

/** How many events are kept; the oldest beyond it are deleted. */
const operatorEventsMax = 100_000;

/**
 * Appends an event in the transaction of what it is about. Its number comes from a counter that stays locked until the commit, so numbers grow
 * in the order of commits, on several nodes too: a reader behind the last one misses none.
 */
export async function appendOperatorEvent(
  tx: Transaction,
  { kind, instance, data }: NewOperatorEvent,
  created: Timestamp,
): Promise<void> {
  const table = tx.names.table('$operator_event');
  const position = await nextCount(tx, 'operator_position');
  const id = newTimeOrderedId(fromTimestamp(created));
  await tx.run(sql`
    INSERT INTO ${table} (position, id, kind, instance, created, data)
    VALUES (${position}, ${id}, ${kind}, ${instance}, ${created}, ${JSON.stringify(data)})`);
  await tx.run(sql`DELETE FROM ${table} WHERE position <= ${position - operatorEventsMax}`);
}

type Place = Pick<StoredInstance, 'shownId' | 'slug'>;

export function eventOf(kind: OperatorEventKind, { shownId, slug }: Place): NewOperatorEvent {
  return { kind, instance: shownId, data: { slug } };
}

export function createdEvent({
  shownId,
  slug,
  host,
}: Pick<StoredInstance, 'shownId' | 'slug' | 'host'>): NewOperatorEvent {
  return { kind: 'instance.created', instance: shownId, data: { slug, host } };
}

/** Returns the events of a change; none where nothing has changed. */
export function changeEvents(before: StoredInstance, after: StoredInstance): readonly NewOperatorEvent[] {
  const { slug, host, labels } = after;
  const events: NewOperatorEvent[] = [];
  if (slug !== before.slug)
    events.push({ kind: 'instance.renamed', instance: after.shownId, data: { slug, before: before.slug } });
  if (host !== before.host || !isDeepStrictEqual(labels, before.labels))
    events.push({ kind: 'instance.updated', instance: after.shownId, data: { slug, host, labels } });
  if (after.state !== before.state)
    events.push(eventOf(after.state === 'suspended' ? 'instance.suspended' : 'instance.resumed', after));
  return events;
}
