import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Reader } from '../database.ts';

/** As long as a node's leases last: a node without a sign of life for longer counts as dead. */
const aliveSeconds = 10;
const lookIntervalMs = 500;

/** A node that runs, and knows too few steps for the schema to come. */
export interface OlderNode {
  readonly id: string;
  readonly version: string;
}

/** How long a newer version waits for older nodes before it changes the schema. */
export interface UpgradeWait {
  /** 0 does not wait at all. */
  readonly maxMs: number;
  /** Called again and again while it waits. */
  readonly onWait: (nodes: readonly OlderNode[]) => Promise<void>;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** Steps of a newer version need more than nodes know that are running: nothing was changed. */
class OlderNodesRun extends AppError {
  readonly needed: number;

  constructor(nodes: readonly OlderNode[], needed: number) {
    const names = nodes.map(({ id, version }) => `${id} (${version})`).join(', ');
    super(
      'unavailable',
      `Nodes of an older version are running, which the tables of this one do not admit: stop ${names} first.`,
    );
    this.name = 'OlderNodesRun';
    this.needed = needed;
  }
}

/** Throws OlderNodesRun while a node runs that knows fewer than so many steps. */
export async function requireNoOlderNodes(reader: Reader, needed: number): Promise<void> {
  const nodes = await readOlderNodes(reader, needed);
  if (nodes.length > 0) throw new OlderNodesRun(nodes, needed);
}

/** Runs a migration. While older nodes run it waits for them to stop, and throws OlderNodesRun when that takes too long. */
export async function migrateWithoutOlderNodes(
  database: Database,
  migrateNow: () => Promise<void>,
  { maxMs, onWait, signal }: UpgradeWait,
): Promise<void> {
  const endMs = systemClock.monotonic() + maxMs;
  for (;;)
    try {
      return await migrateNow();
    } catch (error) {
      if (!(error instanceof OlderNodesRun) || maxMs === 0) throw error;
      // Reads the list of nodes alone: each try of the migration would hold up running nodes.
      for (let nodes = await readOlderNodes(database, error.needed); nodes.length > 0;) {
        if (systemClock.monotonic() > endMs) throw error;
        await onWait(nodes);
        await pause(lookIntervalMs, undefined, signal && { signal });
        nodes = await readOlderNodes(database, error.needed);
      }
    }
}

/** A version that does not report how many steps it knows has only the steps that every node needed so far. */
async function readOlderNodes(reader: Reader, needed: number): Promise<readonly OlderNode[]> {
  // The column may be one of the steps that are to come.
  const rows = await reader.tuples(sql`
    SELECT id, version FROM chancery.node n
    WHERE seen > now() - make_interval(secs => ${aliveSeconds}) AND coalesce(CAST(to_jsonb(n) ->> 'steps' AS integer), 0) < ${needed}
    ORDER BY started, id`);
  return rows.map(([id, version]) => ({ id: String(id), version: String(version) }));
}
