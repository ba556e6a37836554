import { Client } from 'pg';
import { newId } from '../src/base/ids.ts';
import { sql } from '../src/sql/sql.ts';
import type { Database } from '../src/storage/database.ts';
import { openPostgresHome } from '../src/storage/postgres/home.ts';
import { DueFloor } from '../src/dispatch/due-floor.ts';
import { readDue } from '../src/dispatch/read-due.ts';
import { median } from './support/median.ts';
import type { BenchOptions } from './support/options.ts';
import { createDatabase } from './support/service.ts';

const dead = 100_000;
/** Settled rows that were due in the last two seconds are stepped over all the same. */
const ageMs = 60_000;
const looks = 200;
const endpoint = 1;
/** More than this, and a claim is not flat. */
const growthMax = 1.5;

/**
 * Does a look for due deliveries stay as fast when 100,000 rows were settled that an old snapshot keeps from being cleaned up?
 * The time of one look at ten due deliveries, before and after, as lanes look and from the start of the index.
 */
export async function deadRows({ postgres }: BenchOptions): Promise<void> {
  if (postgres === undefined) throw new Error('dead-rows asks about PostgreSQL: give --postgres');
  const url = await createDatabase(postgres);
  const home = await openPostgresHome({ url });
  const instanceId = newId();
  await home.control.write((tx) =>
    tx.run(sql`INSERT INTO chancery.instance (id, slug, created) VALUES (${instanceId}, 'bench', '')`),
  );
  const database = await home.openInstance(instanceId, { read: () => Promise.resolve(() => undefined) });
  await insertPending(database, instanceId, { count: 10, due: Date.now() });
  const before = await timeLooks(database, new DueFloor());
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM chancery.outcome');
  const due = Date.now() - ageMs;
  await insertPending(database, instanceId, { count: dead, due });
  await database.write((tx) =>
    tx.run(sql`UPDATE chancery.outcome SET status = 'delivered' WHERE due = ${due}`),
  );
  const floor = new DueFloor();
  floor.beginAt(Date.now());
  floor.note(Date.now(), undefined);
  const after = await timeLooks(database, floor);
  const fromStart = await timeLooks(database, undefined);
  await client.query('COMMIT');
  await client.end();
  await database.stop();
  await home.stop();
  const growth = after / before;
  const line = { what: 'dead rows', dead, beforeMs: before, afterMs: after, fromStartMs: fromStart, growth };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.stderr.write(
    `  a look takes ${before.toFixed(2)} ms, with ${dead} dead rows under an old snapshot ${after.toFixed(2)} ms (${growth.toFixed(2)} ×, ${growth <= growthMax ? 'flat' : 'NOT FLAT'}), from the start of the index ${fromStart.toFixed(2)} ms\n`,
  );
}

/** How many events there are deliveries of. */
let made = 0;

async function insertPending(
  database: Database,
  instanceId: string,
  { count, due }: { readonly count: number; readonly due: number },
): Promise<void> {
  const begun = made;
  made += count;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO chancery.outcome (instance_id, event, endpoint, status, attempts, due, is_wide, cause, updated)
      SELECT ${instanceId}, n + ${begun}, ${endpoint}, 'pending', 0, ${due}, 0, '', '' FROM generate_series(1, ${count}) AS n`),
  );
}

async function timeLooks(database: Database, floor: DueFloor | undefined): Promise<number> {
  const times: number[] = [];
  for (let look = 0; look < looks; look += 1) {
    const now = Date.now();
    const start = performance.now();
    const since = floor?.beginAt(now) ?? 0;
    const look = { endpoint, now, since, safe: 0, from: 0, walkMax: 256, retriesMax: 256 };
    const { firstDue } = await readDue(database, look);
    times.push(performance.now() - start);
    floor?.note(now, firstDue);
  }
  return median(times);
}
