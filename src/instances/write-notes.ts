import { newId } from '../base/ids.ts';
import { Poller } from '../base/poller.ts';
import type { WakeUp } from '../events/event-log.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

/*
 * How a server learns that a command beside it has written events, where no database tells it: the command notes the instance in
 * control.db, and the server, which looks there several times a second, has the instance's log read. A note that is lost costs time and no
 * event: the next event or start makes up for it.
 */

/** How soon a server sees a note, and at most how often a command makes one. */
const intervalMs = 250;

/** The version of all notes, whose rows are named after it and the instance. */
const name = 'written';

export interface WriteNotes {
  stop(): Promise<void>;
}

const none: WriteNotes = { stop: () => Promise.resolve() };

/** Notes each instance with new events, for a server that may run beside this process. Stopping makes the last notes. */
export function noteWrites(control: Database, wakeUp: WakeUp): WriteNotes {
  if (control.names.isConcurrent) return none;
  const waiting = new Set<string>();
  const write = async (): Promise<void> => {
    const ids = [...waiting];
    waiting.clear();
    if (ids.length > 0) await writeNotes(control, ids);
  };
  // The events themselves are written, and the next note says the same.
  const poller = new Poller({ intervalMs, poll: write, onError: () => undefined });
  wakeUp.onWakeUp((id) => waiting.add(id));
  return {
    stop: async () => {
      await poller.look();
      await poller.stop();
    },
  };
}

async function writeNotes(control: Database, ids: readonly string[]): Promise<void> {
  const table = control.names.table('$setting');
  await control.write(async (tx) => {
    for (const key of [name, ...ids.map((id) => `${name} ${id}`)])
      await tx.run(sql`
        INSERT INTO ${table} (name, value) VALUES (${key}, ${newId()})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
  });
}

/** Calls `onWritten` with each instance that another process notes from now on. */
export async function watchWrites(
  control: Database,
  onWritten: (instanceId: string) => void,
  onError: (error: unknown) => void,
): Promise<WriteNotes> {
  if (control.names.isConcurrent) return none;
  let known = await readNotes(control);
  const poll = async (): Promise<void> => {
    const table = control.names.table('$setting');
    const row = await control.get(sql`SELECT value FROM ${table} WHERE name = ${name}`);
    if (row?.['value'] === known.get(name)) return;
    const found = await readNotes(control);
    for (const [key, value] of found)
      if (key !== name && value !== known.get(key)) onWritten(key.slice(name.length + 1));
    known = found;
  };
  return new Poller({ intervalMs, poll, onError });
}

async function readNotes(control: Database): Promise<ReadonlyMap<string, unknown>> {
  const table = control.names.table('$setting');
  const rows = await control.tuples(
    sql`SELECT name, value FROM ${table} WHERE name = ${name} OR (name >= ${`${name} `} AND name < ${`${name}!`})`,
  );
  return new Map(rows.map(([key, value]) => [String(key), value]));
}
