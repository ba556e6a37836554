import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { requireNoMove } from '../../src/transfer/move-mark.ts';
import { moveToPostgres } from '../../src/transfer/move-to-postgres.ts';
import { openPostgresHome } from '../../src/storage/postgres/home.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { runMain, serveMain, type ServingMain } from '../support/main-process.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import { Receiver } from '../support/receiver.ts';
import { runInProcess, type CommandResult } from '../support/run-in-process.ts';
import { notInSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const password = 'correct horse battery';
const superuser = 'ann@example.com';

test(
  'a move takes everything along, and the service goes on as if nothing had happened',
  notInSample,
  async (t) => {
    const data = join(temporaryFolder(t), 'data');
    await using receiver = await Receiver.open();
    await assertSucceeds(['superuser', 'upsert', superuser, password, '--data', data]);
    await assertSucceeds(['instance', 'create', 'acme', '--host', 'acme.example.com', '--data', data]);

    // Nothing happens to an instance that it would be sent.
    const hook = ['operator', 'endpoint', 'create', 'https://example.com/hook', '--data', data];
    assert.equal((await runInProcess(hook)).code, 0);

    const before = await serveMain(t, data);
    const pb = new PocketBase(before.url);
    await pb.collection('_superusers').authWithPassword(superuser, password);
    const { endpoint, key } = await fill(pb, receiver);
    const seen = await look(before.url, pb.authStore.token, key);
    await stop(before);

    const url = await createDatabase(t);
    const moved = await runInProcess(['move', '--data', data, '--postgres', url]);
    assert.deepEqual([moved.code, moved.stderr], [0, '']);
    assert.match(
      moved.stdout,
      /^Moved 2 instances\.\n {2}default: \d+ collections, 208 records, 203 pending webhooks/,
    );
    await assertSameRows(data, url);

    const flags = ['--postgres', url, '--key-file', join(data, 'master.key')];
    const after = await serveMain(t, join(temporaryFolder(t), 'none'), { flags });
    assert.deepEqual(await look(after.url, pb.authStore.token, key), seen);
    // What comes now has positions behind all that was moved.
    pb.baseURL = after.url;
    const late = await pb.collection('notes').create({ title: 'late' });
    const newest = await pb.collection('notes').getList(1, 1, { sort: '-@rowid' });
    assert.equal(newest.items[0]?.id, late.id);
    await pb.send(`/api/webhooks/endpoints/${endpoint}/resume`, { method: 'POST' });
    const requests = await receiver.waitForRequests(205);
    const titles = requests.map(({ body }) => titleOf(body));
    assert.deepEqual(titles.toSorted(), ['first', ...noteTitles(), 'late'].toSorted());
    await stop(after);
  },
);

test('only an empty database takes a data directory that no server uses', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const url = await createDatabase(t);
  const move = (...args: readonly string[]): Promise<CommandResult> => runInProcess(['move', ...args]);
  const nowhere = await move('--data', data);
  assert.deepEqual([nowhere.code, nowhere.stdout], [64, '']);
  assert.match(nowhere.stderr, /^chancery: No target: [^\n]+--postgres\.\n$/);
  assertFails(await move('--data', data, '--postgres', url), /^chancery: There is no data directory/);
  const server = await serveMain(t, data);
  assertFails(
    await move('--data', data, '--postgres', url),
    /^chancery: Another server or a move is running/,
  );
  await stop(server);
  await assertSucceeds(['move', '--data', data, '--postgres', url]);
  assertFails(
    await move('--data', data, '--postgres', url),
    /^chancery: [^\n]+holds data already[^\n]+\n$/,
    65,
  );
});

test('no server starts on a database into which a move has not finished', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const url = await createDatabase(t);
  await assertSucceeds(['superuser', 'upsert', superuser, password, '--data', data]);
  await assertSucceeds(['move', '--data', data, '--postgres', url]);
  await ask(url, `INSERT INTO chancery.setting (name, value) VALUES ('moving', '2026-01-02 03:04:05.678Z')`);
  const unfinished = /^chancery: A move into this database began at 2026-01-02 03:04:05\.678Z and has not/;
  const key = ['--key-file', join(data, 'master.key')];
  assertFails(await runMain(t, ['serve', '--postgres', url, ...key]), unfinished);
  assertFails(await runInProcess(['move', '--data', data, '--postgres', url]), unfinished);
});

test('a move that does not find what it has counted fails, and leaves a database that no server uses', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  await assertSucceeds(['superuser', 'upsert', superuser, password, '--data', data]);
  const url = await createDatabase(t);
  const source = await openDataDirectory(readConfig({ data }, {}), { role: 'reader' });
  atEnd(t, () => source.stop());
  const target = await openPostgresHome({ url, queryTimeoutMs: 1_000 });
  atEnd(t, () => target.stop());
  const instances = source.directory.all();
  const file = new DatabaseSync(join(data, 'instances', String(instances[0]?.id), 'data.db'));
  t.after(() => file.close());
  const moving = moveToPostgres({
    source: { home: source.home, instances, borrow: (entry) => source.instances.borrow(entry) },
    target,
    clock: systemClock,
    // Behind the back of the move, and before the rows that it has read.
    onProgress: ({ table }) => {
      if (table === '$secret') file.exec(`INSERT INTO "$secret" VALUES ('', '', '', '')`);
    },
  });
  await assert.rejects(moving, /The table \$secret has (\d+) rows of which \d+ were read .* in use\?$/);
  await assert.rejects(
    requireNoMove(target.control),
    /A move into this database began at .* has not finished/,
  );
});

/** What a service may hold, in the instance that everybody starts with. */
async function fill(pb: PocketBase, receiver: Receiver): Promise<{ endpoint: string; key: string }> {
  const text = { name: 'title', type: 'text' };
  const fields = [
    text,
    { name: 'size', type: 'number' },
    { name: 'isDone', type: 'bool' },
    { name: 'more', type: 'json' },
    { name: 'tags', type: 'select', values: ['a', 'b'], maxSelect: 2 },
    { name: 'place', type: 'geoPoint' },
    { name: `f${'long'.repeat(20)}1`, type: 'text' },
    { name: `f${'long'.repeat(20)}2`, type: 'text' },
    { name: 'ctid', type: 'text' },
    { name: 'secret', type: 'password' },
  ];
  const indexes = ['CREATE UNIQUE INDEX by_title ON notes (title)'];
  await pb.collections.create({ name: 'notes', listRule: '', viewRule: '', fields, indexes });
  await pb.collections.create({ name: 'empty', fields: [text] });
  const { id: endpoint } = await pb.send<{ id: string }>('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: receiver.url, collections: ['notes'] },
  });
  await pb.collection('notes').create({ title: 'first' });
  await receiver.waitForRequests(1);
  await eventually('its result is stored', async () => {
    const { items } = await pb.send<{ items: { status: string }[] }>('/api/webhooks/deliveries', {});
    return items[0]?.status === 'delivered';
  });
  await pb.send(`/api/webhooks/endpoints/${endpoint}/pause`, { method: 'POST' });
  const { key } = await pb.send<{ key: string }>('/api/keys', {
    method: 'POST',
    body: { name: 'reader', scopes: ['records:read'] },
  });
  await pb.settings.update({ meta: { appName: 'Moved' } });
  const account = { email: 'ben@example.com', password, passwordConfirm: password };
  for (const name of ['users', 'users']) {
    await pb.collection(name).create({ ...account, email: `${crypto.randomUUID()}@example.com` });
  }
  for (const title of noteTitles())
    await pb.collection('notes').create(noteOf(title), { headers: keyed(title) });
  return { endpoint, key };
}

/** Enough for several batches, and texts that PostgreSQL's formats treat specially. */
function noteTitles(): readonly string[] {
  const odd = ['tab\t line\n back\\slash "quotes" {braces} \u{1F600}', 'NULL', String.raw`\N`];
  return [...odd, ...Array.from({ length: 200 }, (_, at) => `note ${at}`)];
}

function noteOf(title: string): Record<string, unknown> {
  const at = title.length;
  return {
    title,
    size: at / 3 - 5,
    isDone: at % 2 === 0,
    more: at % 3 === 0 ? null : { at, text: title },
    tags: at % 2 === 0 ? ['a', 'b'] : [],
    place: { lon: at / 7, lat: -at / 9 },
    [`f${'long'.repeat(20)}1`]: `1 ${title}`,
    [`f${'long'.repeat(20)}2`]: 'x'.repeat(5_000),
    ctid: title,
    secret: password,
  };
}

function keyed(title: string): Record<string, string> {
  return title === 'NULL' ? { 'Idempotency-Key': 'once' } : {};
}

/** What clients are answered: status, body and ETag of some requests, with a token and a key from before. */
async function look(url: string, token: string, key: string): Promise<readonly unknown[]> {
  const [as, asKey] = [{ Authorization: token }, { Authorization: `Bearer ${key}` }];
  const id = String((await answerOf(`${url}/api/collections/notes/records?perPage=1`, as)).id);
  const requests: readonly (readonly [path: string, headers: Record<string, string>])[] = [
    ['/api/collections/notes/records?perPage=500', as],
    ['/api/collections/notes/records?perPage=50&page=2&sort=-@rowid', asKey],
    [`/api/collections/notes/records/${id}`, as],
    ['/api/collections/users/records', as],
    ['/api/collections', as],
    ['/api/settings', as],
    ['/api/webhooks/endpoints', as],
    ['/api/webhooks/deliveries?perPage=500', as],
    ['/api/keys', as],
  ];
  const answers: unknown[] = [];
  for (const [path, headers] of requests) {
    const answer = await fetch(`${url}${path}`, { headers });
    assert.equal(answer.status, 200, path);
    answers.push([path, answer.headers.get('etag'), await answer.text()]);
  }
  return answers;
}

async function answerOf(url: string, headers: Record<string, string>): Promise<{ readonly id: unknown }> {
  // The list has records.
  const { items } = (await (await fetch(url, { headers })).json()) as { items: { id: unknown }[] };
  return items[0] ?? { id: undefined };
}

/** Every row of every internal table of the instances, and of `notes`, has the same values in both places. */
async function assertSameRows(data: string, url: string): Promise<void> {
  const control = new DatabaseSync(join(data, 'control.db'), { readOnly: true });
  const instances = control
    .prepare('SELECT id FROM "$instance"')
    .all()
    .map(({ id }) => String(id));
  control.close();
  const seen = new Set<string>();
  for (const id of instances) {
    const source = new DatabaseSync(join(data, 'instances', id, 'data.db'), { readOnly: true });
    for (const table of internalTables(source)) {
      const rows = textOf(source.prepare(`SELECT * FROM "${table}"`).all());
      const to = `SELECT * FROM chancery."${table.slice(1)}" WHERE instance_id = '${id}'`;
      assert.deepEqual(textOf(await ask(url, to), ['instance_id', 'transaction']), rows, table);
      if (rows.length > 0) seen.add(table);
    }
    source.close();
    const logs = new DatabaseSync(join(data, 'instances', id, 'logs.db'), { readOnly: true });
    const lines = textOf(logs.prepare('SELECT * FROM "$log"').all());
    const to = `SELECT * FROM chancery.log WHERE instance_id = '${id}'`;
    assert.deepEqual(textOf(await ask(url, to), ['instance_id']), lines);
    if (lines.length > 0) seen.add('$log');
    logs.close();
  }
  assert.deepEqual([...seen].toSorted(), [
    '$api_key',
    '$attempt',
    '$audit',
    '$collection',
    '$delivery',
    '$endpoint',
    '$endpoint_day',
    '$endpoint_hour',
    '$event',
    '$idempotency',
    '$instance_setting',
    '$lane',
    '$log',
    '$outcome',
    '$secret',
  ]);
}

/**
 * Tables that a move leaves out: which migrations were applied and the version of the definitions, which only SQLite has, and what is counted,
 * which is counted again. The service measures its files once it has run for a while, so that on a slow machine it has counts.
 */
const leftOut = ['$migration', '$definitions', '$quota'];

function internalTables(source: DatabaseSync): readonly string[] {
  const found = source
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '$%'`)
    .all();
  return found.map(({ name }) => String(name)).filter((name) => !leftOut.includes(name));
}

/** One text for each row, in no order that depends on the engine. */
function textOf(rows: readonly object[], without: readonly string[] = []): readonly string[] {
  return rows.map((row) => rowText(row, without)).toSorted();
}

/** The values by column, as texts: the driver of PostgreSQL gives a bigint as one. */
function rowText(row: object, without: readonly string[]): string {
  const texts = Object.entries(row)
    .filter(([name]) => !without.includes(name))
    .map(([name, value]: [string, unknown]) => {
      const plain = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
      return `${name}=${typeof plain === 'number' ? plain : JSON.stringify(plain)}`;
    });
  return texts
    .toSorted()
    .join()
    .replaceAll(/="(\d+)"/g, '=$1');
}

function titleOf(body: Uint8Array): string {
  // The service made it, of a record of `notes`.
  return (JSON.parse(Buffer.from(body).toString()) as { data: { title: string } }).data.title;
}

async function createDatabase(t: TestContext): Promise<string> {
  const server = await openTestPostgres();
  const url = await server.createDatabase();
  t.after(() => server.dropDatabase(url));
  return url;
}

async function stop(server: ServingMain): Promise<void> {
  server.process.kill('SIGTERM');
  const { code } = await server.process.ended;
  assert.equal(code, 0);
}

async function assertSucceeds(args: readonly string[]): Promise<void> {
  const { code, stderr } = await runInProcess(args);
  assert.deepEqual([code, stderr], [0, '']);
}

function assertFails({ code, stdout, stderr }: CommandResult, message: RegExp, expected = 69): void {
  assert.deepEqual([code, stdout], [expected, '']);
  assert.match(stderr, message);
}
