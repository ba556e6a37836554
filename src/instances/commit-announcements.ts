import { newId } from '../base/ids.ts';
import { Poller } from '../base/poller.ts';
import type { WakeUp } from '../events/event-log.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

/*
 * How a command notifies a server beside it of new events, where the database cannot: the command writes an announcement of the instance to
 * control.db, and the server, which polls it several times a second, reads the instance's log. A lost announcement costs time and no event:
 * the next event or start makes up for it.
 */

/** How often a server polls, and at most how often a command announces. */
const intervalMs = 250;

/** The version of all announcements, whose rows are named after it and the instance. */
const name = 'written';

export interface CommitAnnouncements {
  stop(): Promise<void>;
}

const none: CommitAnnouncements = { stop: () => Promise.resolve() };

/** Announces each instance with new events to a server that may run beside this process. Stopping writes the last announcements. */
export function announceCommits(control: Database, wakeUp: WakeUp): CommitAnnouncements {
  if (control.names.isConcurrent) return none;
  const waiting = new Set<string>();
  const write = async (): Promise<void> => {
    const ids = [...waiting];
    waiting.clear();
    if (ids.length > 0) await writeAnnouncements(control, ids);
  };
  // The events are stored, and the next announcement replaces a lost one.
  const poller = new Poller({ intervalMs, poll: write, onError: () => undefined });
  wakeUp.onWakeUp((id) => waiting.add(id));
  return {
    stop: async () => {
      await poller.look();
      await poller.stop();
    },
  };
}

async function writeAnnouncements(control: Database, ids: readonly string[]): Promise<void> {
  const table = control.names.table('$setting');
  await control.write(async (tx) => {
    for (const key of [name, ...ids.map((id) => `${name} ${id}`)])
      await tx.run(sql`
        INSERT INTO ${table} (name, value) VALUES (${key}, ${newId()})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
  });
}

/** Calls `onCommit` with each instance that another process announces from now on. */
export async function watchCommits(
  control: Database,
  onCommit: (instanceId: string) => void,
  onError: (error: unknown) => void,
): Promise<CommitAnnouncements> {
  if (control.names.isConcurrent) return none;
  let values = await readAnnouncements(control);
  const poll = async (): Promise<void> => {
    const table = control.names.table('$setting');
    const row = await control.get(sql`SELECT value FROM ${table} WHERE name = ${name}`);
    if (row?.['value'] === values.get(name)) return;
    const current = await readAnnouncements(control);
    for (const [key, value] of current)
      if (key !== name && value !== values.get(key)) onCommit(key.slice(name.length + 1));
    values = current;
  };
  return new Poller({ intervalMs, poll, onError });
}

async function readAnnouncements(control: Database): Promise<ReadonlyMap<string, unknown>> {
  const table = control.names.table('$setting');
  const rows = await control.tuples(
    sql`SELECT name, value FROM ${table} WHERE name = ${name} OR (name >= ${`${name} `} AND name < ${`${name}!`})`,
  );
  return new Map(rows.map(([key, value]) => [String(key), value]));
}
