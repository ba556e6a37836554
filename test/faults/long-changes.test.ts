import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { startApp } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { errorsOnly } from './errors-only.ts';
import { FaultyDisk, faultyDiskMissing } from './faulty-disk.ts';
import { Journal } from './journal.ts';
import { prepareFolder } from './prepare-folder.ts';
import { ServerProcess } from './server-process.ts';

const here = { skip: faultyDiskMissing ?? false };
const log = '/data.db-wal';
const account = { identity: 'root@example.com', password: 'a long password' };
/** What makes a file so large that its tables are altered by a thread. */
const rows = 1_000;
const rowBytes = 4_000;
const slow = `posts/records?perPage=1&filter=${encodeURIComponent(`id!=''&&(${Array.from({ length: 100 }, () => "id~'a%b'").join('||')}||body!='')`)}`;

interface Place {
  readonly disk: FaultyDisk;
  readonly ask: (path: string, method?: string, body?: object) => Promise<Answer>;
  /** Adds a field to `posts`, by a thread. */
  readonly addField: () => Promise<Answer>;
  readonly fieldNames: () => Promise<readonly string[]>;
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

test(
  'a long change of a table is shown when it is on the disk, and until then requests are answered by what was',
  here,
  async (t) => {
    const { disk, ask, addField, fieldNames } = await start(t);
    const { syncs } = disk.counts;
    disk.fail({ call: 'sync', error: 'hang', suffix: log });
    const changed = addField();
    await eventually('the change is being synced', () => disk.counts.syncs > syncs);
    let isHealed = false;
    const found = ask(slow).then(({ status, json }) => [isHealed, status, json['totalItems']]);
    const lists: Promise<Answer>[] = [];
    for (let asked = 0; asked < 100; asked += 1) {
      assert.equal((await ask('../health/live')).status, 200);
      // Where this process is held up, a list takes longer than its budget and is searched by a thread, which waits for what is synced.
      lists.push(ask('posts/records?perPage=1'));
      const view = await ask('posts/records/post1');
      assert.deepEqual([view.status, view.json['added']], [200, undefined]);
      assert.ok(!(await fieldNames()).includes('added'));
    }
    isHealed = true;
    disk.heal();
    for (const { json } of await Promise.all(lists)) assert.equal(json['totalItems'], rows);
    assert.equal((await changed).status, 200);
    assert.ok((await fieldNames()).includes('added'));
    assert.deepEqual(await found, [true, 200, rows]);
  },
);

test(
  'a long change whose sync has failed is saved by the next write, and known from then on',
  here,
  async (t) => {
    const { disk, ask, addField, fieldNames } = await start(t);
    disk.fail({ call: 'sync', error: 'EIO', suffix: log, times: 1 });
    assert.equal((await addField()).status, 500);
    assert.ok(!(await fieldNames()).includes('added'));
    assert.equal((await ask('posts/records', 'POST', { title: 'next' })).status, 201);
    assert.ok((await fieldNames()).includes('added'));
    assert.equal((await ask('posts/records', 'POST', { title: 'next', added: 'x' })).json['added'], 'x');
  },
);

test('a disk that is full refuses a long change, of which nothing is kept', here, async (t) => {
  const { disk, ask, addField, fieldNames } = await start(t);
  disk.fail({ call: 'write', error: 'ENOSPC', suffix: log });
  assert.equal((await addField()).status, 507);
  disk.heal();
  assert.ok(!(await fieldNames()).includes('added'));
  assert.equal((await ask('posts/records', 'POST', { title: 'next' })).status, 201);
  assert.equal((await addField()).status, 200);
  assert.equal((await ask('posts/records?perPage=1')).json['totalItems'], rows + 1);
});

async function start(t: TestContext): Promise<Place> {
  const journal = await Journal.open();
  atEnd(t, () => journal.close());
  const { data, file } = await prepareFolder(journal, []);
  atEnd(t, () => rmSync(data, { recursive: true }));
  await makeSuperuser(data);
  const database = new DatabaseSync(file);
  database.exec(`
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows - 1})
    INSERT INTO posts (id, title, body, created, updated, "$revision")
    SELECT 'post' || n, 'title', hex(zeroblob(${rowBytes / 2})), '', '', 1 FROM n`);
  database.close();
  const disk = new FaultyDisk();
  atEnd(t, () => disk.close());
  const server = await ServerProcess.start({ data }, disk.environment(data));
  atEnd(t, () => server.signal('SIGKILL'));
  disk.count(log);
  let token = '';
  const ask: Place['ask'] = async (path, method = 'GET', body) => {
    const answer = await fetch(`${server.url}/api/collections/${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: token },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // Every answer of the API that has a body is an object.
    return { status: answer.status, json: (await answer.json()) as Answer['json'] };
  };
  const { json } = await ask('_superusers/auth-with-password', 'POST', account);
  token = String(json['token']);
  // The first commit begins the log. What a sign-in does in the background is over as well.
  assert.equal((await ask('posts/records', 'POST', { body: 'first' })).status, 201);
  const fieldsOf = async (): Promise<readonly { readonly name: string }[]> =>
    // As docs/collections.md describes it.
    (await ask('posts')).json['fields'] as readonly { readonly name: string }[];
  return {
    disk,
    ask,
    // The index is made of all rows.
    addField: async () =>
      ask('posts', 'PATCH', {
        fields: [...(await fieldsOf()), { name: 'added', type: 'text' }],
        indexes: ['CREATE INDEX long ON posts (body, title)'],
      }),
    fieldNames: async () => (await fieldsOf()).map(({ name }) => name),
  };
}

async function makeSuperuser(data: string): Promise<void> {
  const config = readConfig({ data, port: '0', dev: true }, {});
  const app = await startApp(config, { logger: errorsOnly });
  const [entry] = app.data.directory.all();
  assert.ok(entry);
  await onInstance(app.data, entry, async (instance) => {
    await upsertSuperuser(instance, account.identity, account.password);
  });
  await app.stop();
}
