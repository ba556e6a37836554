import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startApp } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
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

// What endpoints of accounts are told is decided once for each event, and nothing is missed, whatever dies in between. On PostgreSQL each process
// that follows is another node, which takes the instance over.

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
const seed = 31;

for (const { engine, kills } of [
  { engine: 'sqlite', kills: 5 },
  { engine: 'postgres', kills: 2 },
])
  test(`endpoints of accounts are told of each change that they may view behind kill -9, and each is decided once (${engine})`, async (t) => {
    t.diagnostic(`seed ${seed}`);
    const receiver = await Receiver.open();
    atEnd(t, () => receiver.close());
    const data = temporaryFolder(t);
    const isPostgres = engine === 'postgres';
    const place: Place = isPostgres
      ? { data, postgres: await (await openTestPostgres()).createDatabase() }
      : { data };
    await prepare(place, receiver);
    const random = new Random(seed);
    const answered = new Set<string>();
    for (let kill = 0; kill < kills; kill += 1) {
      const server = await ServerProcess.start({ ...place, isWithoutWarnings: true }, environment);
      const writing = Promise.all([1, 2, 3].map((writer) => write(server, `${kill}.${writer}`, answered)));
      await delay(random.integer(150, 900));
      await server.signal('SIGKILL');
      await writing;
    }
    const server = await ServerProcess.start({ ...place, isWithoutWarnings: true }, environment);
    atEnd(t, () => server.signal('SIGKILL'));
    await settle(server);
    assertTold(t, { receiver, answered, kills });
    const decided = await countDeliveries(server);
    assert.equal(decided, new Set(idsAt(receiver, '/ann')).size + new Set(idsAt(receiver, '/bob')).size);
  });

function idsAt(receiver: Receiver, path: string): readonly string[] {
  return receiver.requests.flatMap((request) =>
    request.path === path ? [String(request.headers['webhook-id'])] : [],
  );
}

function assertTold(
  t: TestContext,
  told: { readonly receiver: Receiver; readonly answered: ReadonlySet<string>; readonly kills: number },
): void {
  const { receiver, answered, kills } = told;
  for (const path of ['/ann', '/bob']) {
    const ids = idsAt(receiver, path);
    const titles = receiver.requests.flatMap((request) =>
      request.path === path ? [String(JSON.parse(request.body.toString('utf8')).data.title)] : [],
    );
    assert.ok(
      titles.every((title) => title.startsWith('open')),
      'none that may not be viewed',
    );
    const missed = [...answered].filter((title) => title.startsWith('open') && !titles.includes(title));
    assert.deepEqual(missed, [], 'nothing is missed');
    const repeated = ids.length - new Set(ids).size;
    assert.ok(repeated <= kills * openMax, `${repeated} were sent again`);
    assert.equal(new Set(ids).size, new Set(titles).size, 'each change is one event');
    t.diagnostic(`${path}: ${titles.length} told, ${repeated} of them again`);
  }
}

/** A collection whose records have a rule, and two endpoints of accounts. */
async function prepare(place: Place, receiver: Receiver): Promise<void> {
  const config = readConfig(
    { ...place, port: '0', dev: true },
    place.postgres === undefined ? {} : environment,
  );
  const app = await startApp(config, { logger: errorsOnly });
  try {
    const [entry] = app.data.directory.all();
    assert.ok(entry);
    await onInstance(app.data, entry, async (instance) => {
      await upsertSuperuser(instance, superuser.identity, superuser.password);
      const definition = { ...posts, viewRule: 'title ~ "open%"' };
      await createCollection({ ...instance, now: instance.clock.now() }, definition);
      // The receiver of this test answers no challenges.
      const { current } = instance.settings;
      const webhooks = { ...current.webhooks, verifyAccountEndpoints: false };
      await instance.database.write((tx) => instance.settings.save(tx, { ...current, webhooks }));
      const { policy } = readConfig({ dev: true }, {});
      const users = instance.collections.get('users');
      for (const name of ['ann', 'bob']) {
        const body = {
          email: `${name}@example.com`,
          password: 'correct horse',
          passwordConfirm: 'correct horse',
        };
        const made = await fetch(`${app.url}/api/collections/users/records`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        });
        const { id }: Json = Object(await made.json());
        const url = receiver.urlAt('127.0.0.1', `/${name}`);
        await createEndpoint(instance, { url, owner: `${users.id}/${id}`, maxInFlight: 16 }, policy);
      }
    });
  } finally {
    await app.stop();
  }
}

/** Makes records until the server is dead; every third one may not be viewed. */
async function write(server: ServerProcess, writer: string, answered: Set<string>): Promise<void> {
  for (let turn = 0; server.isRunning; turn += 1) {
    const title = `${turn % 3 === 0 ? 'closed' : 'open'} ${writer}.${turn}`;
    await fetch(server.url + records, {
      method: 'POST',
      body: JSON.stringify({ title }),
      headers: { 'content-type': 'application/json' },
    })
      .then(async (answer) => {
        await answer.arrayBuffer();
        if (answer.status === 201) answered.add(title);
      })
      .catch(() => undefined);
  }
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

async function ask(server: ServerProcess, path: string): Promise<Json> {
  const answer = await fetch(server.url + path, { headers: { authorization: await signIn(server.url) } });
  return Object(await answer.json());
}

async function countDeliveries(server: ServerProcess): Promise<number> {
  return (await ask(server, '/api/webhooks/deliveries?perPage=1'))['totalItems'];
}

/** Resolves when nothing more is told: a record that is made last was told, and nothing waits. */
async function settle(server: ServerProcess): Promise<void> {
  await fetch(server.url + records, {
    method: 'POST',
    body: JSON.stringify({ title: 'open last' }),
    headers: { 'content-type': 'application/json' },
  });
  await eventually('nothing waits', async () => {
    const last = await ask(server, `/api/webhooks/events?sort=-created&perPage=1`);
    const waiting = await ask(server, "/api/webhooks/deliveries?perPage=1&filter=(status='pending')");
    return last['items'][0]?.deliveries.length === 2 && waiting['totalItems'] === 0;
  });
}
