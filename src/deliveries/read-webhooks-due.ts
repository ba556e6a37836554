import { recordEventKinds } from '../events/event.ts';
import { limit, sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { readDecisions } from './decision-cursor.ts';

/**
 * Returns when the dispatcher has something to do next in an instance that nobody writes to, in milliseconds since 1970: 0 for at once,
 * undefined for never. It may be too early, never too late.
 */
export async function readWebhooksDue(reader: Reader): Promise<number | undefined> {
  const { names } = reader;
  const { instance } = names;
  const [outcome, lane] = [names.table('$outcome'), names.table('$lane')];
  const settled = sql`SELECT 1 FROM ${outcome} o WHERE ${instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint`;
  const lanes = await reader.tuples(sql`
    SELECT
      EXISTS (SELECT 1 FROM ${names.table('$delivery')} d
        WHERE ${instance.conditionOf('d')} AND d.endpoint = l.endpoint AND d.event > l.cursor AND NOT EXISTS (${settled})),
      (SELECT min(due) FROM ${outcome} o
        WHERE ${instance.conditionOf('o')} AND o.endpoint = l.endpoint AND o.status = 'pending' AND o.due IS NOT NULL),
      CASE WHEN l.state = 'open' AND l.probe_at > l.held_until THEN l.probe_at ELSE l.held_until END
    FROM ${lane} l JOIN ${names.table('$endpoint')} p ON ${instance.conditionOf('p')} AND p.position = l.endpoint
    WHERE ${instance.conditionOf('l')} AND l.state <> 'blocked' AND p.status = 'active' AND p.deleted = ''`);
  const dues = lanes.flatMap(([isFirst, due, opensAt]) => {
    const next = Number(isFirst) === 1 ? 0 : due;
    return typeof next === 'number' ? [Math.max(next, Number(opensAt))] : [];
  });
  const [running] = await reader.tuples(
    sql`SELECT 1 FROM ${names.table('$replay')} WHERE ${instance.condition} AND state = 'running'${limit(1)}`,
  );
  if (running !== undefined || (await hasUndecided(reader)) || (await hasUnwatched(reader))) return 0;
  const [mark] = await reader.tuples(sql`
    SELECT min(l.reconcile_at) FROM ${lane} l JOIN ${names.table('$endpoint')} p ON ${instance.conditionOf('p')} AND p.position = l.endpoint
    WHERE ${instance.conditionOf('l')} AND p.status = 'active' AND p.deleted = ''`);
  if (typeof mark?.[0] === 'number') dues.push(mark[0]);
  return dues.length === 0 ? undefined : Math.min(...dues);
}

/** Whether events were not matched to endpoints of accounts yet. */
async function hasUndecided(reader: Reader): Promise<boolean> {
  const { names } = reader;
  const { cursor, apart } = await readDecisions(reader);
  if (cursor === undefined) return false;
  if (apart.values().some(({ at }) => at < cursor)) return true;
  const [event] = await reader.tuples(sql`
    SELECT 1 FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position > ${cursor} AND kind${names.anyOf(recordEventKinds)}${limit(1)}`);
  return event !== undefined;
}

/** Whether events were not looked at yet for records on which endpoints with transitions depend (replays/reconcile-watch.ts). */
async function hasUnwatched(reader: Reader): Promise<boolean> {
  const { names } = reader;
  const { instance } = names;
  const [row] = await reader.tuples(sql`
    SELECT (SELECT max(position) FROM ${names.table('$event')} WHERE ${instance.condition}),
      (SELECT value FROM ${names.table('$instance_setting')} WHERE ${instance.condition} AND name = 'watched')
    FROM ${names.table('$endpoint')} WHERE ${instance.condition} AND transitions = 'true' AND deleted = ''${limit(1)}`);
  return row !== undefined && Number(row[0] ?? 0) > Number(row[1] ?? 0);
}
