import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import type { TestAnswer } from '../support/service.ts';
import { listOf } from '../support/webhook-service.ts';
import { type HostStage, idOf, poolOf, posts, startHosts } from './host-stage.ts';

/** What is changed while an instance is elsewhere, and the first request after it is back. */
interface Case {
  /** Done where it was first: what this thread then has in memory. */
  readonly before: (stage: HostStage) => Promise<string>;
  /** Done in the other thread. Gets what `before` has returned. */
  readonly change: (stage: HostStage, made: string) => Promise<void>;
  /** The first request after it is back. */
  readonly first: (stage: HostStage, made: string) => Promise<void>;
}

const password = 'a long password';

async function succeed(asked: Promise<TestAnswer>): Promise<TestAnswer> {
  const answer = await asked;
  assert.ok(answer.status < 300, answer.text);
  return answer;
}

const create = async (stage: HostStage, title: string): Promise<string> =>
  String((await succeed(stage.request(posts, { method: 'POST', body: { title } }))).json.id);
const patch = async (stage: HostStage, path: string, body: unknown): Promise<void> => {
  await succeed(stage.request(path, { method: 'PATCH', token: true, body }));
};

/** Makes an account, and returns its token. */
async function signUp(stage: HostStage): Promise<string> {
  const account = { email: 'a@example.com', password, passwordConfirm: password };
  await succeed(
    stage.request('/api/collections/users/records', { method: 'POST', token: true, body: account }),
  );
  const signedIn = await succeed(
    stage.request('/api/collections/users/auth-with-password', {
      method: 'POST',
      body: { identity: account.email, password },
    }),
  );
  const token = String(signedIn.json.token);
  await succeed(stage.request(refresh, { method: 'POST', token }));
  return token;
}

function sendBatch(stage: HostStage): Promise<TestAnswer> {
  const requests = [{ method: 'POST', url: posts, body: { title: 'of a batch' } }];
  return stage.request('/api/batch', { method: 'POST', token: true, body: { requests } });
}

const refresh = '/api/collections/users/auth-refresh';
const endpoints = '/api/webhooks/endpoints';
const stats = '/api/webhooks/stats';
const ofThree = `${posts}?sort=title&filter=${encodeURIComponent("title ~ 'of three'")}`;

const cases: Readonly<Record<string, Case>> = {
  'a field that was added': {
    before: (stage) => create(stage, 'a'),
    change: async (stage, id) => {
      const fields = [
        { name: 'title', type: 'text' },
        { name: 'note', type: 'text' },
      ];
      await patch(stage, '/api/collections/posts', { fields });
      await patch(stage, `${posts}/${id}`, { note: 'new' });
    },
    first: async (stage) => {
      const { json } = await succeed(stage.request(`${posts}?filter=note='new'`));
      assert.equal(json.items[0]?.note, 'new');
    },
  },
  'a setting': {
    before: async (stage) => String((await sendBatch(stage)).status),
    change: (stage) => patch(stage, '/api/settings', { batch: { enabled: false } }),
    first: async (stage) => assert.equal((await sendBatch(stage)).status, 403),
  },
  'a description of an endpoint': {
    before: async (stage) => {
      const { id } = (await succeed(stage.request(endpoints, { token: true }))).json.items[0];
      return String(id);
    },
    change: (stage, id) => patch(stage, `${endpoints}/${id}`, { description: 'changed' }),
    first: async (stage, id) => {
      const { json } = await succeed(stage.request(`${endpoints}/${id}`, { token: true }));
      assert.equal(json.description, 'changed');
    },
  },
  'the password of an account, which ends its tokens': {
    before: signUp,
    change: async (stage) => {
      const users = '/api/collections/users/records';
      const { items } = (await succeed(stage.request(users, { token: true }))).json;
      await patch(stage, `${users}/${items[0].id}`, {
        password: 'another password',
        passwordConfirm: 'another password',
      });
    },
    first: async (stage, token) =>
      assert.equal((await stage.request(refresh, { method: 'POST', token })).status, 401),
  },
  'records, and how many there are': {
    before: async (stage) => {
      await create(stage, 'one of three');
      const id = await create(stage, 'another of three');
      assert.equal((await succeed(stage.request(ofThree))).json.totalItems, 2);
      return id;
    },
    change: async (stage, id) => {
      for (const title of ['third of three', 'two of three']) await create(stage, title);
      await succeed(stage.request(`${posts}/${id}`, { method: 'DELETE', token: true }));
    },
    first: async (stage) => {
      const { json } = await succeed(stage.request(ofThree));
      assert.equal(json.totalItems, 3);
      const titles = listOf(json.items).map(({ title }) => title);
      assert.deepEqual(titles, ['one of three', 'third of three', 'two of three']);
    },
  },
  'a record that was viewed': {
    before: async (stage) => {
      const id = await create(stage, 'a');
      for (let view = 0; view < 3; view += 1) await succeed(stage.request(`${posts}/${id}`));
      return id;
    },
    change: (stage, id) => patch(stage, `${posts}/${id}`, { title: 'b' }),
    first: async (stage, id) =>
      assert.equal((await succeed(stage.request(`${posts}/${id}`))).json.title, 'b'),
  },
  'statistics of webhooks': {
    before: async (stage) => String(await countEvents(stage)),
    change: async (stage) => void (await create(stage, 'b')),
    first: async (stage, before) => assert.equal(await countEvents(stage), Number(before) + 1),
  },
  // The last, as it keeps others from what they ask for.
  'a rule that was closed': {
    before: async (stage) => (await succeed(stage.request(posts))).text,
    change: (stage) => patch(stage, '/api/collections/posts', { listRule: null }),
    first: async (stage) => assert.equal((await stage.request(posts)).status, 403),
  },
};

async function countEvents(stage: HostStage): Promise<number> {
  return Number((await succeed(stage.request(stats, { token: true }))).json.total.events);
}

/** Makes a service with an instance in its first thread, which has an endpoint. */
async function start(t: TestContext, mode: Receiver['mode']): Promise<[HostStage, Receiver]> {
  const receiver = await Receiver.open({ mode });
  const stage = await startHosts(t, { threads: 2 });
  t.after(() => receiver.close());
  await patch(stage, '/api/settings', { batch: { enabled: true } });
  const body = { url: receiver.url, events: ['record.create'], timeoutMs: 30_000 };
  await succeed(stage.request(endpoints, { method: 'POST', token: true, body }));
  await move(stage, 0);
  return [stage, receiver];
}

const move = (stage: HostStage, to: number): Promise<void> => poolOf(stage).move(idOf(stage, 'default'), to);

async function runCases(t: TestContext, stage: HostStage): Promise<void> {
  for (const [name, { before, change, first }] of Object.entries(cases))
    await t.test(`it has ${name} at once`, async () => {
      const made = await before(stage);
      await move(stage, 1);
      await change(stage, made);
      await move(stage, 0);
      await first(stage, made);
    });
}

test('an instance that comes back to a thread is answered for as it is now', async (t) => {
  const [stage] = await start(t, { kind: 'ok' });
  await runCases(t, stage);
});

test('the same while the thread has it open all the time, as a webhook of it is on its way', async (t) => {
  const answered = Promise.withResolvers<void>();
  const [stage, receiver] = await start(t, { kind: 'held', until: answered.promise });
  await create(stage, 'held');
  await receiver.waitForRequests(1);
  await runCases(t, stage);
  answered.resolve();
  await eventually('all are delivered', async () => {
    const { json } = await stage.request('/api/webhooks/deliveries', { token: true });
    return listOf(json.items).every(({ status }) => status === 'delivered');
  });
});

test('a thread closes an instance that leaves, and one that it sends a webhook of when that has ended', async (t) => {
  const [stage, receiver] = await start(t, { kind: 'ok' });
  const path = join(stage.data, 'instances', idOf(stage, 'default'), 'data.db-wal');
  const openAt = async (place: number): Promise<number> => {
    await move(stage, place);
    await succeed(stage.request(posts));
    return countOpenFiles(path);
  };
  const atFirst = await openAt(1);
  assert.ok(atFirst > 0);
  for (const place of [0, 1, 0, 1]) assert.equal(await openAt(place), atFirst);
  const answered = Promise.withResolvers<void>();
  receiver.mode = { kind: 'held', until: answered.promise };
  await create(stage, 'held');
  await receiver.waitForRequests(1);
  assert.ok((await openAt(0)) > atFirst);
  answered.resolve();
  await eventually('it is closed', () => countOpenFiles(path) === atFirst);
});

/** Of this process: of a log, as SQLite closes a database itself only after all connections to it in the process. */
function countOpenFiles(file: string): number {
  const links = readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // It was closed since it was listed.
      return [];
    }
  });
  return links.filter((path) => path === file).length;
}
