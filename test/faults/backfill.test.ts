import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startApp } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { createEndpoint, setEndpointStatus } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { requestBackfill } from '../../src/deliveries/endpoints/request-backfill.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { errorsOnly } from './errors-only.ts';
import { posts } from './posts.ts';
import { environment } from './prepare-instances.ts';
import { Random } from './random.ts';
import { ServerProcess } from './server-process.ts';

// A backfill tells of each record once, and misses none, whatever dies while it goes on and others write. On PostgreSQL each process that
// follows is another node, which takes the instance over.

interface Json {
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [name: string]: any;
}

interface Place {
  readonly data: string;
  readonly postgres?: string;
}

const superuser = { identity: 'root@example.com', password: 'correct horse' };
const records = '/api/collections/posts/records';
/** Of one process at its death: on their way, or answered and not settled yet. */
const openMax = 100;

for (const { engine, kills } of [
  { engine: 'sqlite', kills: 5 },
  { engine: 'postgres', kills: 2 },
])
  test(`a backfill goes on behind kill -9, takes each record once and misses none (${engine})`, async (t) => {
    const receiver = await Receiver.open();
    atEnd(t, () => receiver.close());
    const place = await openPlace(t, engine);
    const backfill = await prepare(place, receiver.url);
    const random = new Random(29);
    const ids = await readIds(place);
    for (let kill = 0; kill < kills; kill += 1) {
      const server = await ServerProcess.start({ ...place, isWithoutWarnings: true }, environment);
      const writing = Promise.all([1, 2].map(() => write(server, ids, random)));
      await delay(random.integer(150, 900));
      await server.signal('SIGKILL');
      await writing;
    }
    const server = await ServerProcess.start({ ...place, isWithoutWarnings: true }, environment);
    atEnd(t, () => server.signal('SIGKILL'));
    const token = await signIn(server.url);
    const over = await eventually('the backfill is over', async () => {
      const replay = await ask(server.url, `/api/webhooks/replays/${backfill}`, token);
      const waiting = await ask(server.url, "/api/webhooks/deliveries?filter=(status='pending')", token);
      const isOver = replay['state'] === 'done' && replay['pending'] === 0;
      return isOver && waiting['totalItems'] === 0 ? replay : undefined;
    });
    const told = receiver.requests.map(({ headers, body }) => ({
      id: String(headers['webhook-id']),
      isBackfill: headers['x-service-backfill'] === backfill,
      kind: String(headers['x-service-event']),
      sequence: Number(headers['x-service-sequence']),
      data: JSON.parse(body.toString('utf8')).data,
    }));
    const events = new Map(told.map((one) => [one.id, one]));
    const states = [...events.values()].map(({ data, sequence }) => `${data.id} ${sequence}`);
    assert.equal(new Set(states).size, states.length, 'each state is one event');
    const taken = [...events.values()].filter(({ isBackfill }) => isBackfill);
    assert.equal(new Set(taken.map(({ data }) => data.id)).size, taken.length);
    assert.deepEqual([over['taken'], over['delivered']], [taken.length, taken.length]);
    const repeated = told.length - events.size;
    assert.ok(repeated <= kills * openMax, `${repeated} were sent again`);
    const latest = new Map<string, (typeof told)[number]>();
    for (const one of told)
      if (one.sequence > (latest.get(one.data.id)?.sequence ?? 0)) latest.set(one.data.id, one);
    const copy = [...latest.values()].filter(({ kind }) => kind !== 'record.delete');
    const key = ({ id, title }: Json): string => `${id} ${title}`;
    assert.deepEqual(
      new Set(copy.map(({ data }) => key(data))),
      new Set((await readAll(server.url)).map(key)),
      'the receiver has the collection',
    );
    t.diagnostic(
      `${taken.length} by the backfill, ${events.size - taken.length} by changes, ${repeated} again`,
    );
    assert.ok(taken.length > 100 && events.size > taken.length);
  });

async function openPlace(t: TestContext, engine: string): Promise<Place> {
  const data = temporaryFolder(t);
  if (engine !== 'postgres') return { data };
  return { data, postgres: await (await openTestPostgres()).createDatabase() };
}

async function onPlace<Result>(
  place: Place,
  work: (app: Awaited<ReturnType<typeof startApp>>) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(
    { ...place, port: '0', dev: true },
    place.postgres === undefined ? {} : environment,
  );
  const app = await startApp(config, { logger: errorsOnly });
  try {
    return await work(app);
  } finally {
    await app.stop();
  }
}

/** A collection with records, and a backfill that has just begun. Returns its id. */
function prepare(place: Place, url: string): Promise<string> {
  return onPlace(place, async (app) => {
    const [entry] = app.data.directory.all();
    assert.ok(entry);
    await onInstance(app.data, entry, async (instance) => {
      await upsertSuperuser(instance, superuser.identity, superuser.password);
      await createCollection({ ...instance, now: instance.clock.now() }, posts);
    });
    for (let at = 0; at < 1_500; at += 50) {
      const titles = Array.from({ length: 50 }, (_, index) => `post ${at + index}`);
      await Promise.all(titles.map((title) => send(app.url + records, 'POST', { title })));
    }
    return onInstance(app.data, entry, async (instance) => {
      const { policy } = readConfig({ dev: true }, {});
      const { id } = await createEndpoint(instance, { url, status: 'paused' }, policy);
      const backfill = await requestBackfill(instance, id, { collection: 'posts', rate: 500 });
      assert.ok('id' in backfill);
      await setEndpointStatus(instance, id, 'drain');
      return backfill.id;
    });
  });
}

function readIds(place: Place): Promise<readonly string[]> {
  return onPlace(place, async ({ url }) => (await readAll(url)).map(({ id }) => String(id)));
}

/** Changes, deletes and makes records until the server is dead. */
async function write(server: ServerProcess, ids: readonly string[], random: Random): Promise<void> {
  for (let turn = 0; server.isRunning; turn += 1) {
    const title = `changed ${turn}`;
    const path = `${server.url}${records}`;
    const one = `${path}/${random.pick(ids)}`;
    if (turn % 4 === 0) await send(path, 'POST', { title });
    else if (turn % 4 === 1) await send(one, 'DELETE');
    else await send(one, 'PATCH', { title });
  }
}

/** Whatever becomes of it: the server may die, and another writer may have deleted the record. */
async function send(url: string, method: string, body?: object): Promise<void> {
  const json = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  await fetch(url, { method, ...json })
    .then((answer) => answer.arrayBuffer())
    .catch(() => undefined);
}

async function signIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/collections/_superusers/auth-with-password`, {
    method: 'POST',
    body: JSON.stringify(superuser),
    headers: { 'content-type': 'application/json' },
  });
  const { token }: Json = Object(await answer.json());
  return String(token);
}

async function ask(url: string, path: string, token = ''): Promise<Json> {
  const answer = await fetch(url + path, { headers: { authorization: token } });
  return Object(await answer.json());
}

async function readAll(url: string): Promise<readonly Json[]> {
  const all: Json[] = [];
  for (let page = 1; ; page += 1) {
    const { items, totalPages } = await ask(url, `${records}?perPage=500&page=${page}`);
    all.push(...items);
    if (page >= totalPages) return all;
  }
}
