import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import type { Flags } from '../../src/config/config.ts';
import { eventually } from '../support/eventually.ts';
import { ask, startTestPostgres } from '../support/postgres.ts';
import { NodeGroup, posts } from './node-group.ts';

const records = '/api/collections/posts/records';
const notes = '/api/collections/notes/records';
const pageBytes = 8192;

async function startNode(group: NodeGroup, url: string, flags: Flags = {}): Promise<App> {
  const node = await group.start(url, flags);
  await group.signIn(node);
  for (const name of ['posts', 'notes']) await group.get(node, 'POST /api/collections', { ...posts, name });
  await group.get(node, `POST ${records}`, { title: 'before' });
  return node;
}

async function readinessOf(group: NodeGroup, node: App): Promise<string> {
  const { status, json } = await group.ask(node, 'GET /api/health/ready');
  return status === 200 ? 'ready' : String(json.data.reason);
}

/** The table of `posts`, as SQL names it. */
async function tableOf(url: string): Promise<string> {
  const [row] = await ask(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE tablename = 'posts'`,
  );
  return String(row?.['name']);
}

test('a damaged page of the server is a 503 that names nothing, an entry of the audit log and a reason of ready', async (t) => {
  const server = await startTestPostgres();
  t.after(() => server.stop());
  const group = await NodeGroup.open(t);
  const url = await server.createDatabase();
  const node = await startNode(group, url, { 'check-hours': '0.0005' });
  const table = await tableOf(url);
  // Reads the page, which changes it, and writes it out.
  await ask(url, `SELECT count(*) FROM ${table}; CHECKPOINT`);
  const [row] = await ask(
    url,
    `SELECT current_setting('data_directory') AS data, pg_relation_filepath('${table}') AS path`,
  );
  const file = openSync(join(String(row?.['data']), String(row?.['path'])), 'r+');
  writeSync(file, Buffer.alloc(pageBytes, 0xa5), 0, pageBytes, 0);
  closeSync(file);
  await server.restart('immediate');
  await eventually('the node has its database again', async () => {
    const { status } = await group.ask(node, `GET ${notes}`);
    return status === 200 && (await readinessOf(group, node)) === 'ready';
  });

  // Somebody else meets it first.
  const { health } = node.data.home;
  const checkedAt = Date.now();
  await eventually('the node has looked', () => health.checkedAt > checkedAt);
  const search = node.data.home.openDamageSearch();
  const find = async (): Promise<readonly string[] | undefined> => search.find('', { isWhole: false });
  assert.deepEqual(await find(), []);
  await assert.rejects(ask(url, `SELECT * FROM ${table}`));
  const [found] = await eventually('it is counted', async () => {
    const problems = await find();
    return problems?.length === 1 && problems;
  });
  assert.equal(found, 'Pages with wrong checksums, as the server has counted: 1.');
  assert.deepEqual(await find(), []);
  await search.stop();
  await eventually('the node knows', async () => (await readinessOf(group, node)) === 'damage');
  const { status, json, retryAfter } = await group.ask(node, `GET ${records}`);
  assert.deepEqual([status, retryAfter], [503, '30']);
  assert.deepEqual([json.data, json.message], [{}, 'The service is not available, try again later.']);
  assert.equal(await readinessOf(group, node), 'damage');
  await group.get(node, `POST ${notes}`, { title: 'whole' });
  await eventually('it is audited', async () => {
    const { items } = await group.get(node, `GET /api/audit?filter=(action='instance.damage')`);
    return items.length === 1;
  });
});

test('a full disk of the server is a 507, and the node is ready again when a small write has room', async (t) => {
  const group = await NodeGroup.open(t);
  const node = await startNode(group, group.postgres);
  const url = group.postgres;
  const table = await tableOf(url);
  // The server's own error, without its disk: for the records, and for whatever takes new room.
  await ask(
    url,
    `CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$;
     CREATE FUNCTION public.full_too() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER full_disk BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION public.full();
     CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS') EXECUTE FUNCTION public.full_too()`,
  );
  const { status, retryAfter, json } = await group.ask(node, `POST ${records}`, { title: 'no room' });
  assert.deepEqual([status, retryAfter, json.message], [507, '30', 'The storage is full.']);
  assert.equal(await readinessOf(group, node), 'disk');
  // Reads go on, and so do writes that need no room.
  assert.equal((await group.get(node, `GET ${records}`)).totalItems, 1);
  const [tried] = await ask(url, 'SELECT now() AS now');
  await eventually('the node has tried again', async () => {
    const [row] = await ask(
      url,
      `SELECT now() > timestamptz '${toText(tried?.['now'])}' + interval '2 s' AS later`,
    );
    return row?.['later'] === true;
  });
  assert.equal(await readinessOf(group, node), 'disk');

  await ask(url, 'DROP EVENT TRIGGER full_disk');
  await eventually('the node is ready', async () => (await readinessOf(group, node)) === 'ready');
  const [left] = await ask(
    url,
    `SELECT count(*)::integer AS tables FROM pg_tables WHERE tablename LIKE 'probe%'`,
  );
  assert.equal(left?.['tables'], 0);
});

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
