// Both engines: each plans statements of its own.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Instance } from '../../src/instances/instance.ts';
import { toTimestamp } from '../../src/base/timestamp.ts';
import {
  claimUploads,
  dueAt,
  forgetRemovals,
  noteRemovals,
  readDue,
  readNextDue,
  removalTimes,
} from '../../src/files/file-removals.ts';
import { sweepWindows } from '../../src/limits/window-store.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import { numberPlaceholders } from '../../src/storage/postgres/postgres-connection.ts';
import type { Database } from '../../src/storage/database.ts';
import {
  type PendingQuery,
  readPendings,
  sendAnyway,
  type SendPolicy,
} from '../../src/deliveries/deliveries.ts';
import { countExhausted, readBacklog, readOldestPending } from '../../src/deliveries/log/count-waiting.ts';
import { findPendingKeys } from '../../src/deliveries/log/pending-keys.ts';
import { LaneSource } from '../../src/dispatch/lane-source.ts';
import { readExhausted } from '../../src/deliveries/delivery-outcomes.ts';
import { writeTest } from '../../src/dispatch/test-endpoint.ts';
import { staleMessage } from '../../tools/build/generated-files.ts';
import { root } from '../../tools/build/root.ts';
import { type Blog, longId, startBlog } from '../support/blog.ts';
import { isGenerating, testEngine } from '../support/test-config.ts';
import { explain } from './explain.ts';
import { recordedDatabase } from './recorded-database.ts';

/** Written again by `npm run generate`, for a look at what has changed. */
const path = `spec/sql/${testEngine}.md`;

const p1 = `/posts/records/${longId('p1')}`;

/** Requests by what they stand for. Each is made twice: what is read once and remembered is no part of its price. */
const requests: readonly (readonly [what: string, ask: (blog: Blog) => Promise<unknown>])[] = [
  ['view a record', ({ ask }) => ask('GET', p1)],
  ['list a page, with its total', ({ ask }) => ask('GET', '/posts/records?perPage=2')],
  ['list by an indexed field, sorted', list('filter=title="p1"&sort=-created')],
  ['list behind a cursor', list('cursor=&sort=created,id&perPage=2')],
  ['list by a related record', list('filter=author.name="ann"')],
  ['list by any of several related records', list('filter=readers.name?="ann"')],
  ['list by all of several related records', list('filter=readers.name!="ann"')],
  ['list by records that refer to it', list('filter=comments_via_post.stars?>4')],
  ['list by another collection', list('filter=@collection.teams.name?="red"')],
  ['list sorted by a related record', list('sort=author.name')],
  ['list by a related record that the caller may list', listAsGuest('filter=author.name="ann"')],
  ['list by all of several that the caller may list', listAsGuest('filter=readers.name!="ann"')],
  [
    'list sorted by records that refer to it and that the caller may list',
    listAsGuest('sort=-comments_via_post.stars'),
  ],
  ['expand related records', list('expand=author,readers&perPage=2')],
  ['expand records that refer to it', list('expand=comments_via_post&perPage=2')],
  ['expand records that refer to it and to others', expandReaders],
  ['update a record', ({ ask }) => ask('PATCH', p1, { title: `t${(titles += 1)}` })],
  ['create and delete a record', createAndDelete],
];

let titles = 0;

function list(query: string): (blog: Blog) => Promise<unknown> {
  return ({ ask }) => ask('GET', `/posts/records?skipTotal=1&${query}`);
}

function listAsGuest(query: string): (blog: Blog) => Promise<unknown> {
  return ({ askAsGuest }) => askAsGuest('GET', `/posts/records?skipTotal=1&${query}`);
}

function expandReaders({ ask }: Blog): Promise<unknown> {
  return ask('GET', '/people/records?skipTotal=1&expand=posts_via_readers&perPage=2');
}

async function createAndDelete({ ask }: Blog): Promise<void> {
  const id = longId('new');
  assert.equal((await ask('POST', '/posts/records', { id, title: 'new' })).status, 201);
  assert.equal((await ask('DELETE', `/posts/records/${id}`)).status, 204);
}

const keys = [
  { event: 1, endpoint: 1 },
  { event: 2, endpoint: 1 },
];

const query = (policy: SendPolicy): PendingQuery => ({
  keys,
  policyOf: () => policy,
  instance: { shownId: 'x', bodyBytesMax: 256 * 1024 },
  now: 1,
});

const deliveries: readonly (readonly [what: string, ask: (database: Database) => Promise<unknown>])[] = [
  [
    'look for due deliveries',
    (database) => new LaneSource(0, database.names).read(database, { endpoint: 1, now: 1, safe: 0 }),
  ],
  ['find what is still to be sent', (database) => findPendingKeys(database)],
  ['find what is still to be sent to an endpoint', (database) => findPendingKeys(database, 1)],
  ['read deliveries that are to be sent', (database) => readPendings(database, query(sendAnyway))],
  [
    'read deliveries that are to be sent in the order of their records',
    (database) => readPendings(database, query({ ...sendAnyway, order: 'record', coalesce: true })),
  ],
  ['the oldest delivery that is pending', (database) => readOldestPending(database)],
  ['what waits to be sent', (database) => readBacklog(database)],
  ['count deliveries exhausted of late', (database) => countExhausted(database, toTimestamp(1))],
  ['which deliveries are exhausted', (database) => readExhausted(database, keys)],
];

const writes: readonly (readonly [what: string, ask: (instance: Instance) => Promise<unknown>])[] = [
  ['write a test of an endpoint', (instance) => instance.database.write((tx) => writeTest(tx, instance, 1))],
  ['write events together', appendTogether],
  ['note files, claim them, and remove those that are due', followFiles],
];

/** Of which the endpoint wants the one and not the other. */
async function appendTogether({ database, events, collections, clock }: Instance): Promise<void> {
  const created = toTimestamp(clock.now());
  const works = ['posts', 'people'].map((collectionName) => {
    const collection = collections.get(collectionName).id;
    const event = {
      kind: 'record.create',
      collection,
      collectionName,
      record: 'r',
      revision: 1,
      created,
    } as const;
    return database.write((tx) => events.append(tx, { ...event, dataJson: '{}' }), { isAppending: true });
  });
  await Promise.all(works);
}

async function followFiles({ database }: Instance): Promise<void> {
  const keys = ['c/r/a', 'c/r/b'];
  await database.write(async (tx) => {
    await noteRemovals(tx, keys, removalTimes.unclaimedMs + 1);
    await claimUploads(tx, keys, 1);
    await noteRemovals(tx, keys, 1);
    await dueAt(tx, keys, 2);
  });
  const due = await readDue(database, { now: 2, max: 256 });
  await database.write((tx) => forgetRemovals(tx, due));
  await readNextDue(database);
}

/** Where nodes count together, and nowhere else. */
const windows: readonly (readonly [what: string, ask: (instance: Instance) => Promise<unknown>])[] = [
  ['count in a window', count],
  ['give back what was counted in a window', async (instance) => instance.windows?.refund('client', 1)],
  ['clear away windows that are over', ({ database }) => sweepWindows(database, 1)],
];

async function count({ windows }: Instance): Promise<void> {
  assert.notEqual(await windows?.take('client', { max: 100, durationMs: 10_000 }), undefined);
}

test('every stored statement is planned as spec/sql says', async (t) => {
  const text = await describePlans(t);
  if (text === undefined) return t.skip('another version of PostgreSQL plans otherwise');
  if (isGenerating) writeFileSync(join(root, path), text);
  const stored = readFileSync(join(root, path), 'utf8');
  try {
    // By lines, so that a difference is shown where it is.
    assert.deepEqual(text.split('\n'), stored.split('\n'));
  } catch (cause) {
    throw new Error(staleMessage([path]), { cause });
  }
});

/** The major version that comes with the tests. */
const POSTGRES = 18;

async function isDescribed(database: Database): Promise<boolean> {
  if (database.engine === 'sqlite') return true;
  const row = await database.get(sql`SELECT current_setting('server_version_num')::int / 10000 AS major`);
  return Number(row?.['major']) === POSTGRES;
}

async function describePlans(t: TestContext): Promise<string | undefined> {
  let noted: Sql[] = [];
  const wrapDatabase = (database: Database): Database =>
    recordedDatabase(database, (statement) => void noted.push(statement));
  const blog = await startBlog(t, { parts: { wrapDatabase } });
  const { ask, service } = blog;
  if (!(await service.withInstance('default', ({ database }) => isDescribed(database)))) return undefined;
  const index = await ask('PATCH', '/posts', { indexes: ['CREATE INDEX posts_title ON posts (title)'] });
  assert.equal(index.status, 200, index.text);
  // For guests: one rule that names a further collection, and one about the record itself.
  for (const [path, listRule] of [
    ['/people', "team.name = 'red'"],
    ['/comments', 'stars < 5'],
  ] as const)
    assert.equal((await ask('PATCH', path, { listRule })).status, 200);
  await listenToPosts(blog);
  const parts = [
    `# What is asked of ${testEngine}, and how it is planned\n\nEach statement stands where it is asked for the first time.\n`,
  ];
  for (const [what, request] of requests) {
    await request(blog);
    noted = [];
    await request(blog);
    parts.push(await service.withInstance('default', (instance) => describe(instance.database, what, noted)));
  }
  const apart = deliveries.map(([what, read]) => [what, ({ database }: Instance) => read(database)] as const);
  for (const [what, read] of [...apart, ...writes, ...(testEngine === 'postgres' ? windows : [])]) {
    noted = [];
    const part = await service.withInstance('default', async (instance) => {
      await read(instance);
      return describe(instance.database, what, noted);
    });
    parts.push(part);
  }
  return parts.join('\n');
}

async function listenToPosts({ service }: Blog): Promise<void> {
  // Nothing is sent, so that nothing but what is asked for here is asked of the engine.
  const body = { url: 'http://127.0.0.1:9/', collections: ['posts'], status: 'paused' };
  const made = await service.request('/api/webhooks/endpoints', { method: 'POST', token: true, body });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.json['status'], 'paused');
}

/** Texts of statements: one that stands above is not said again. */
const shown = new Set<string>();

async function describe(database: Database, what: string, statements: readonly Sql[]): Promise<string> {
  const parts = [`## ${what}\n`];
  for (const statement of statements.filter(({ text }) => !isOnTheSide(text) && !shown.has(text))) {
    shown.add(statement.text);
    const plan = await explain(database, statement);
    const text = withoutNames(numberPlaceholders(statement.text).replaceAll(/\s+/g, ' ').trim());
    const lines = ['```sql', text, '```', ''];
    if (plan.length > 0) lines.push('```text', ...plan.map(withoutNames), '```', '');
    parts.push(lines.join('\n'));
  }
  return parts.join('\n');
}

/** Written on its own time, so that it comes with one request or another; and what is asked so that others can be told. */
function isOnTheSide(text: string): boolean {
  return /audit|EXPLAIN|pg_notify|chancery\.instance\b|\$log\b/.test(text);
}

/** Schemas are named after instances, whose ids are random as those of superusers are; those that tests choose end with zeros. */
function withoutNames(text: string): string {
  return text
    .replaceAll(/"?i_[a-z0-9]{15}"?/g, 'instance')
    .replaceAll(/\b(?!\w*000)[a-z0-9]{15}\b|(?<=')[\w-]{43}(?=')/g, '…');
}
