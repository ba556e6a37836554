import { setImmediate as nextTurn } from 'node:timers/promises';
import { foundByKeys, limit, sql } from '../../sql/sql.ts';
import type { Database, InlineColumn, Reader } from '../../storage/database.ts';

/** Deliveries of one endpoint that one statement walks, about 2 ms of them, and the number of statements. */
const walkMax = 2_048;
const walksMax = 8;
/** Cursors that are written together. */
const togetherMax = 256;

interface MovedCursor {
  readonly endpoint: number;
  readonly cursor: number;
}

/**
 * Advances the cursors of lanes that get few events, or send nothing: over deliveries that have an outcome already, as far as
 * `safeFor` allows. So nothing has to walk the same part of the log again and again. Each step reads some of the deliveries of one lane, by their index,
 * and lets others run after it.
 */
export async function moveCursors(
  database: Database,
  {
    safeFor,
    isEnding,
  }: {
    /** Returns the position at or before which no delivery to an endpoint can appear any more, by its number. */
    readonly safeFor: (endpoint: number) => number;
    readonly isEnding: () => boolean;
  },
): Promise<void> {
  const { names } = database;
  const lanes = await database.tuples(
    sql`SELECT endpoint, cursor FROM ${names.table('$lane')} WHERE ${names.instance.condition}`,
  );
  let moved: MovedCursor[] = [];
  for (const [endpoint, cursor] of lanes) {
    if (isEnding()) return;
    const lane = { endpoint: Number(endpoint), cursor: Number(cursor) };
    const to = Math.min(safeFor(lane.endpoint), await findCursor(database, lane));
    if (to > lane.cursor) moved.push({ ...lane, cursor: to });
    if (moved.length < togetherMax) continue;
    await store(database, moved);
    moved = [];
  }
  await store(database, moved);
}

/** Returns the position before the first pending delivery of the endpoint; the end of the log if there is none. */
async function findCursor(database: Database, { endpoint, cursor }: MovedCursor): Promise<number> {
  let from = cursor;
  for (let walks = 0; walks < walksMax; walks += 1) {
    const { to, hasMore } = await walk(database, { endpoint, cursor: from });
    await nextTurn();
    if (!hasMore) return to;
    from = to;
  }
  return from;
}

async function walk(
  reader: Reader,
  { endpoint, cursor }: MovedCursor,
): Promise<{ readonly to: number; readonly hasMore: boolean }> {
  const { names } = reader;
  const delivery = sql`FROM ${names.table('$delivery')} WHERE ${names.instance.condition}`;
  const outcome = sql`
    SELECT 1 FROM ${names.table('$outcome')} o
    WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = ${endpoint} AND o.event > ${cursor}`;
  const next = sql`
    WITH walked AS MATERIALIZED (
      SELECT event ${delivery} AND endpoint = ${endpoint} AND event > ${cursor} ORDER BY event${limit(walkMax)})
    SELECT (SELECT min(w.event) FROM walked w WHERE NOT EXISTS (${outcome})), (SELECT max(event) FROM walked),
      (SELECT count(*) FROM walked), (SELECT max(event) ${delivery} AND event > ${cursor})`;
  const [row] = await reader.tuples(foundByKeys(next));
  const [first, last, walked, end] = row ?? [];
  if (typeof first === 'number') return { to: first - 1, hasMore: false };
  if (Number(walked) === walkMax) return { to: Number(last), hasMore: true };
  return { to: typeof end === 'number' ? end : cursor, hasMore: false };
}

const columns: readonly InlineColumn[] = [
  ['endpoint', 'number'],
  ['cursor', 'number'],
];

async function store(database: Database, moved: readonly MovedCursor[]): Promise<void> {
  if (moved.length === 0) return;
  const { names } = database;
  const values = names.valuesTable(
    columns,
    moved.map(({ endpoint, cursor }) => [endpoint, cursor]),
  );
  await database.write((tx) =>
    tx.run(sql`
      UPDATE ${names.table('$lane')} AS l SET cursor = CAST(given.cursor AS bigint) FROM ${values}
      WHERE ${names.instance.conditionOf('l')} AND l.endpoint = CAST(given.endpoint AS bigint) AND l.cursor < CAST(given.cursor AS bigint)`),
  );
}
