import { isTransition, recordEventKinds } from '../../events/event.ts';
import { sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import { type DeliveryOutcome, readOutcomesOf } from '../log/delivery-log.ts';
import type { ExplainedEvent } from './explanation.ts';

/** The enter or leave that some endpoints were sent instead of a change. */
export interface SentTransition {
  /** Its event. */
  readonly id: string;
  readonly kind: 'enter' | 'leave';
  readonly outcome: DeliveryOutcome;
}

/** Events of transitions that are read. More of one revision come only of reconciles, the last ones. */
const transitionsMax = 20;

/** Reads which endpoints, by their numbers, were sent a transition of a change: the first of each. */
export async function readSentTransitions(
  reader: Reader,
  { position, kind, collection, record }: ExplainedEvent,
): Promise<ReadonlyMap<number, SentTransition>> {
  const sent = new Map<number, SentTransition>();
  if (!recordEventKinds.some((one) => one === kind)) return sent;
  const { names } = reader;
  const event = names.table('$event');
  const rows = await reader.tuples(sql`
    SELECT t.position, t.id, t.kind FROM ${event} e JOIN ${event} t ON ${names.instance.conditionOf('t')} AND t.record = e.record
      AND t.collection = e.collection AND t.revision = e.revision AND t.position > e.position AND t.kind${names.anyOf(['enter', 'leave'])}
    WHERE ${names.instance.conditionOf('e')} AND e.position = ${position} AND e.record = ${record} AND e.collection = ${collection}
    ORDER BY t.position LIMIT CAST(${transitionsMax} AS bigint)`);
  for (const [at, id, name] of rows) {
    const transition = String(name);
    if (!isTransition(transition)) continue;
    for (const [endpoint, outcome] of await readOutcomesOf(reader, Number(at)))
      if (!sent.has(endpoint)) sent.set(endpoint, { id: String(id), kind: transition, outcome });
  }
  return sent;
}
