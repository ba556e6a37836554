import { isDeepStrictEqual } from 'node:util';
import { newTimeOrderedId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import { limit, sql } from '../sql/sql.ts';
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
  'log.warning',
  'log.full',
  'log.recovered',
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

export type LogEventKind = Extract<OperatorEventKind, `log.${string}`>;

/** A warning of a log that stays full for long is repeated after this time. */
const warnedAgainMs = 86_400_000;

/** Appends an event about the log, unless the last one about the same instance is the same: several processes look at it. */
export async function appendLogEvent(
  tx: Transaction,
  event: NewOperatorEvent & { readonly kind: LogEventKind },
  created: Timestamp,
): Promise<void> {
  const { names } = tx;
  await tx.tuples(
    sql`SELECT value FROM ${names.table('$setting')} WHERE name = 'operator_position'${names.locks.forUpdate}`,
  );
  const [last] = await tx.tuples(sql`
    SELECT kind, created FROM ${names.table('$operator_event')} WHERE instance = ${event.instance} AND kind LIKE 'log.%'
    ORDER BY position DESC${limit(1)}`);
  const isOld =
    event.kind === 'log.warning' &&
    fromTimestamp(String(last?.[1] ?? created)) <= fromTimestamp(created) - warnedAgainMs;
  if (last?.[0] !== event.kind || isOld) await appendOperatorEvent(tx, event, created);
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
