import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import {
  type MovedInstance,
  type MoveProgress,
  moveToPostgres,
} from '../../src/transfer/move-to-postgres.ts';
import { openPostgresHome } from '../../src/storage/postgres/home.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { startMain } from '../support/main-process.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a directory that holds no data is neither moved nor written to', async (t) => {
  const data = temporaryFolder(t);
  writeFileSync(join(data, 'letter.txt'), 'not for the service');
  const { code, stderr } = await runInProcess([
    'move',
    '--data',
    data,
    '--postgres',
    await createDatabase(t),
  ]);
  assert.equal(code, 69);
  assert.match(stderr, /^chancery: There is no data directory [^\n]+: expected a control\.db in it\.\n$/);
  assert.deepEqual(readdirSync(data), ['letter.txt']);
});

test('a database with the collections of an earlier move is not empty', async (t) => {
  const data = await makeData(t);
  const url = await createDatabase(t);
  const args = ['move', '--data', data, '--postgres', url];
  assert.equal((await runInProcess(args)).code, 0);
  await ask(url, 'DROP SCHEMA chancery CASCADE');
  const { code, stderr } = await runInProcess(args);
  assert.equal(code, 65);
  assert.match(stderr, /^chancery: The PostgreSQL database holds data already: [^\n]+\n$/);
});

test('a node that starts while a move begins makes no instance of its own in its place', async (t) => {
  const url = await createDatabase(t);
  await prepare(url);
  // The node has looked for a mark, and is about to make the default instance.
  await using held = await hold(url, 'chancery.instance IN ACCESS EXCLUSIVE MODE');
  const node = startMain(t, ['serve', '--port', '0', '--postgres', url], { CHANCERY_KEY: randomKey() });
  await waitForBlocked(url, 1);
  await ask(url, `INSERT INTO chancery.setting VALUES ('moving', '2026-01-02 03:04:05.678Z')`);
  await held.release();
  await eventually('the node ends', () => node.hasEnded);
  const { code, stderr } = await node.ended;
  assert.equal(code, 69);
  assert.match(stderr, /^chancery: A move into this database began at 2026-01-02 03:04:05\.678Z and/);
});

test('a move waits for a node that is making its first rows, and finds that the database is in use', async (t) => {
  const data = await makeData(t);
  const url = await createDatabase(t);
  await prepare(url);
  await using held = await hold(url, 'chancery.instance IN SHARE MODE');
  const node = startMain(t, ['serve', '--port', '0', '--postgres', url], { CHANCERY_KEY: randomKey() });
  await waitForBlocked(url, 1);
  // As if the node had not written the check of its key yet, the other first row.
  await ask(url, 'DELETE FROM chancery.setting');
  const moving = runInProcess(['move', '--data', data, '--postgres', url]);
  await waitForBlocked(url, 2);
  await held.release();
  assert.match((await moving).stderr, /^chancery: The PostgreSQL database holds data already/);
  await node.waitForLog(/listens on/);
});

test('rows are copied in batches of a few megabytes, however large the rows before were', async (t) => {
  const data = await makeData(t);
  const file = openFile(t, data);
  const insert = file.prepare(`INSERT INTO "$instance_setting" VALUES (?, ?)`);
  for (let at = 0; at < 100; at += 1) insert.run(`y${at}`, 'small');
  for (let at = 0; at < 5; at += 1) insert.run(`z${at}`, 'é'.repeat(750_000));
  const counts: number[] = [];
  await move(t, data, {
    onProgress: ({ table, rows }) => void (table === '$instance_setting' && counts.push(rows)),
  });
  const first = counts[0] ?? 0;
  assert.deepEqual(counts, [first, first + 1, first + 2, first + 3, first + 4]);
});

test('a move takes note of rows that a command has changed meanwhile', async (t) => {
  for (const table of ['$secret', '$setting']) {
    const data = await makeData(t);
    const file = table === '$secret' ? openFile(t, data) : openFile(t, data, 'control.db');
    // The rows are as many as before.
    const change = `UPDATE "${table}" SET value = value || '!'`;
    const onProgress = (at: MoveProgress): void => void (at.table === '_superusers' && file.exec(change));
    await assert.rejects(move(t, data, { onProgress }), /The data directory was changed during the move\./);
  }
});

test('counting and analyzing a large table may take longer than other statements', async (t) => {
  const data = await makeData(t);
  const url = await createDatabase(t);
  await prepare(url);
  // Every row that is counted takes a while.
  await ask(url, 'ALTER TABLE chancery.secret RENAME TO kept');
  await ask(
    url,
    'CREATE VIEW chancery.secret AS SELECT * FROM chancery.kept WHERE pg_sleep(0.2)::text IS NOT NULL',
  );
  // Only ANALYZE waits for this.
  await using held = await hold(url, 'chancery.log IN SHARE UPDATE EXCLUSIVE MODE');
  const moving = move(t, data, { url, statementTimeoutMs: 500 });
  await Promise.race([waitForBlocked(url, 1), moving]);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await held.release();
  assert.deepEqual(
    (await moving).map(({ slug }) => slug),
    ['default'],
  );
});

test('a record that PostgreSQL cannot hold is reported with its table and the reason', async (t) => {
  const data = await makeData(t);
  const file = openFile(t, data);
  file.exec(`INSERT INTO "$instance_setting" VALUES ('odd', char(97, 0, 98))`);
  await assert.rejects(
    move(t, data),
    /^AppError: The table \$instance_setting cannot be copied: .*0x00.*\. Create another, empty database and move again\.$/,
  );
});

async function makeData(t: TestContext): Promise<string> {
  const data = join(temporaryFolder(t), 'data');
  mkdirSync(data);
  const args = ['superuser', 'upsert', 'ann@example.com', 'correct horse battery', '--data', data];
  assert.equal((await runInProcess(args)).code, 0);
  return data;
}

interface MoveOptions {
  readonly url?: string;
  readonly statementTimeoutMs?: number;
  readonly onProgress?: (progress: MoveProgress) => void;
}

async function move(
  t: TestContext,
  data: string,
  { url, onProgress = () => undefined, ...options }: MoveOptions = {},
): Promise<readonly MovedInstance[]> {
  const source = await openDataDirectory(readConfig({ data }, {}), { role: 'reader' });
  atEnd(t, () => source.stop());
  const target = await openPostgresHome({ url: url ?? (await createDatabase(t)), ...options });
  atEnd(t, () => target.stop());
  const { home, instances } = source;
  return await moveToPostgres({
    source: { home, instances: source.directory.all(), borrow: (entry) => instances.borrow(entry) },
    target,
    clock: systemClock,
    onProgress,
  });
}

/** Opens a file behind the back of the service: that of the default instance, or this one. */
function openFile(t: TestContext, data: string, name?: string): DatabaseSync {
  const [id = ''] = readdirSync(join(data, 'instances'));
  const file = new DatabaseSync(join(data, name ?? join('instances', id, 'data.db')));
  t.after(() => file.close());
  return file;
}

async function createDatabase(t: TestContext): Promise<string> {
  const server = await openTestPostgres();
  const url = await server.createDatabase();
  t.after(() => server.dropDatabase(url));
  return url;
}

/** Makes the tables, without anything in them. */
async function prepare(url: string): Promise<void> {
  const home = await openPostgresHome({ url });
  await home.stop();
}

interface Held extends AsyncDisposable {
  release(): Promise<void>;
}

/** Locks a table until it is released. */
async function hold(url: string, table: string): Promise<Held> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table}`);
  return {
    release: async () => void (await client.query('COMMIT')),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function waitForBlocked(url: string, count: number): Promise<void> {
  await eventually(`${count} wait for a lock`, async () => (await blockedCount(url)) === count);
}

async function blockedCount(url: string): Promise<number> {
  const waiting = await ask(
    url,
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return waiting.length;
}

function randomKey(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex');
}
