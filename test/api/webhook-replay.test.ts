// Both engines: replays are steps over the log.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { storedFilter } from '../../src/deliveries/log/event-filter.ts';
import { readRunning } from '../../src/deliveries/replays/replay-store.ts';
import { advanceReplay } from '../../src/deliveries/replays/replays.ts';
import { answers, HeldSender, type SenderPort } from '../support/held-sender.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { testEngine } from '../support/test-config.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Trial {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sender: () => HeldSender;
  readonly endpoint: string;
  readonly titles: () => readonly string[];
  readonly allOver: () => Promise<void>;
  readonly replay: (body: object, status?: number) => ReturnType<WebhookService['call']>;
  readonly replayed: (id: string) => ReturnType<WebhookService['call']>;
}

async function start(t: TestContext, options: Readonly<Record<string, unknown>> = {}): Promise<Trial> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  sender.answer = answers.ok;
  const { id } = await service.addEndpoint(options);
  const endpoint = `/api/webhooks/endpoints/${id}`;
  return {
    service,
    clock,
    sender: () => sender,
    endpoint,
    titles: () =>
      // webhooks.md section 1: the record's fields are in `data`.
      sender.given.map(({ body }) => JSON.parse(Buffer.from(body).toString('utf8')).data.title),
    allOver: async () => {
      await eventually('all is over', async () => {
        service.look();
        return (await service.deliveries("status = 'pending'")).length === 0;
      });
    },
    replay: (body, status = 200) => service.call('POST', `${endpoint}/replay`, { body, status }),
    replayed: (id) =>
      eventually('the replay is over', async () => {
        service.look();
        const replay = await service.call('GET', `/api/webhooks/replays/${id}`);
        return replay.state !== 'running' && replay.pending === 0 ? replay : undefined;
      }),
  };
}

async function addPosts({ service }: Trial, titles: readonly string[]): Promise<void> {
  for (const title of titles) await service.addPost(title);
}

test('a replay of what has failed sends that again, and nothing else', async (t) => {
  const trial = await start(t, { schedule: [] });
  const { sender, titles, allOver, replay, replayed } = trial;
  await addPosts(trial, ['sent']);
  await allOver();
  sender().answer = { kind: 'status', status: 500, cause: 'Status 500.' };
  await addPosts(trial, ['a', 'b', 'c']);
  await allOver();
  sender().answer = answers.ok;
  const before = titles().length;
  assert.deepEqual(await replay({ dryRun: true }), { total: 3 });
  const begun = await replay({});
  assert.deepEqual([begun.scope, begun.total], ['failed', 3]);
  const over = await replayed(begun.id);
  assert.deepEqual([over.state, over.taken, over.delivered, over.failed], ['done', 3, 3, 0]);
  assert.deepEqual(titles().slice(before), ['a', 'b', 'c']);
  assert.deepEqual(await replay({ dryRun: true }), { total: 0 });
});

test('a replay of what is missing sends also what happened before the endpoint was made, and of all everything', async (t) => {
  const trial = await start(t);
  const { service, sender, allOver } = trial;
  await addPosts(trial, ['a', 'b']);
  await allOver();
  const { id } = await service.addEndpoint({ events: ['record.create'] });
  await addPosts(trial, ['c']);
  await allOver();
  const before = sender().given.length;
  const path = `/api/webhooks/endpoints/${id}/replay`;
  const missing = await service.call('POST', path, { body: { scope: 'missing' } });
  assert.equal(missing.total, 2);
  assert.equal((await trial.replayed(missing.id)).delivered, 2);
  assert.deepEqual(trial.titles().slice(before), ['a', 'b']);
  const all = await service.call('POST', path, { body: { scope: 'all' } });
  assert.equal((await trial.replayed(all.id)).delivered, 3);
  assert.deepEqual(trial.titles().slice(before + 2), ['a', 'b', 'c']);
  const ids = sender().given.map(({ eventId }) => eventId);
  assert.equal(new Set(ids.slice(before)).size, 3, 'under the same ids');
});

test('a replay is bounded by times', async (t) => {
  const trial = await start(t);
  const { clock, allOver, replay } = trial;
  const times: string[] = [];
  for (const title of ['a', 'b', 'c']) {
    await addPosts(trial, [title]);
    times.push(new Date(clock.now()).toISOString());
    clock.move(60_000);
  }
  await allOver();
  const count = async (body: object): Promise<number> =>
    (await replay({ scope: 'all', dryRun: true, ...body })).total;
  assert.equal(await count({}), 3);
  assert.equal(await count({ since: times[1] }), 2);
  assert.equal(await count({ until: times[1] }), 2);
  assert.equal(await count({ since: times[1], until: times[1] }), 1);
});

test('a replay with a rate takes as many in a second, and a cancelled one sends nothing more', async (t) => {
  const trial = await start(t);
  const { service, clock, titles, allOver, replay } = trial;
  await addPosts(trial, ['a', 'b', 'c', 'd', 'e']);
  await allOver();
  const { id } = await replay({ scope: 'all', rate: 2 });
  await eventually('two', () => titles().length === 7);
  clock.move(1_000);
  service.look();
  await eventually('two more', () => titles().length === 9);
  await replay({ scope: 'all' }, 409);
  const cancelled = await service.call('DELETE', `/api/webhooks/replays/${id}`);
  assert.deepEqual([cancelled.state, cancelled.taken], ['cancelled', 4]);
  await service.call('DELETE', `/api/webhooks/replays/${id}`, { status: 409 });
  clock.move(10_000);
  service.look();
  await service.signIn();
  assert.equal(titles().length, 9);
  await allOver();
});

test('a step of a replay takes nothing when the replay was cancelled since the step was decided on', async (t) => {
  const trial = await start(t);
  const { service, endpoint, allOver, replay, titles } = trial;
  await addPosts(trial, ['a', 'b']);
  await allOver();
  await service.call('POST', `${endpoint}/pause`);
  const { id } = await replay({ scope: 'all' });
  await service.withInstance('default', async ({ database, collections, endpoints }) => {
    const now = trial.clock.now();
    const [running] = await readRunning(database);
    const [of] = await endpoints.all(database);
    assert.ok(running !== undefined && of !== undefined);
    await service.call('DELETE', `/api/webhooks/replays/${id}`);
    const plan = {
      ...running,
      scope: 'all',
      of,
      eventFilter: storedFilter(running.filter, { collections, now }),
    } as const;
    const step = await advanceReplay(database, plan, { now, allowed: 10 });
    assert.deepEqual(step, { count: 0, isOver: true, isFull: false });
  });
  await service.call('POST', `${endpoint}/resume`);
  await allOver();
  assert.deepEqual(titles(), ['a', 'b']);
  assert.equal((await service.call('GET', `/api/webhooks/replays/${id}`)).state, 'cancelled');
});

test('a replay goes on where it was, whatever has died in between', async (t) => {
  const trial = await start(t);
  const { service, endpoint, allOver, replay, titles } = trial;
  await addPosts(trial, ['a', 'b', 'c', 'd']);
  await allOver();
  await service.call('POST', `${endpoint}/pause`);
  const { id } = await replay({ scope: 'all' });
  // As a step leaves it whose process died behind its commit.
  await service.withInstance('default', ({ database }) =>
    database.write((tx) =>
      tx.run(sql`
        UPDATE ${tx.names.table('$replay')} SET taken = 2, cursor = (
          SELECT min(event) + 1 FROM ${tx.names.table('$delivery')} WHERE ${tx.names.instance.condition})
        WHERE ${tx.names.instance.condition}`),
    ),
  );
  await service.call('POST', `${endpoint}/resume`);
  const over = await trial.replayed(id);
  assert.equal(over.taken, 4);
  assert.deepEqual(titles().slice(4), ['c', 'd']);
});

test('a replay ends with its endpoint', async (t) => {
  const trial = await start(t);
  const { service, endpoint, allOver, replay, titles } = trial;
  await addPosts(trial, ['a', 'b']);
  await allOver();
  await service.call('POST', `${endpoint}/pause`);
  const { id } = await replay({ scope: 'all' });
  await service.call('DELETE', endpoint, { status: 204 });
  assert.equal((await service.call('GET', `/api/webhooks/replays/${id}`)).state, 'cancelled');
  service.look();
  await service.signIn();
  assert.equal(titles().length, 2);
});

test('an endpoint that is resumed with the newest first is sent the last of what has waited first', async (t) => {
  const trial = await start(t, { maxInFlight: 1 });
  const { service, sender, endpoint, titles, allOver } = trial;
  await service.call('POST', `${endpoint}/pause`);
  await addPosts(trial, ['a', 'b', 'c']);
  sender().answer = undefined;
  await service.call('POST', `${endpoint}/resume`, { body: { backlog: 'newest-first' } });
  await eventually('the first', () => sender().given.length === 1);
  sender().answer = answers.ok;
  sender().succeed(sender().given);
  await allOver();
  assert.deepEqual(titles(), ['c', 'b', 'a']);
});

test('a replay that makes no sense is refused by name', async (t) => {
  const { service, replay } = await start(t);
  for (const [body, name] of [
    [{ scope: 'some' }, 'scope'],
    [{ rate: -1 }, 'rate'],
    [{ since: 'yesterday' }, 'since'],
    [{ until: 5 }, 'until'],
    [{ dryRun: 1 }, 'dryRun'],
    [{ from: 1 }, 'from'],
  ] as const)
    assert.deepEqual(Object.keys((await replay(body, 400)).data), [name]);
  await service.call('GET', '/api/webhooks/replays/unknown', { status: 404 });
});

test(
  'others are served while a replay of a long log is counted',
  { skip: testEngine !== 'sqlite' && 'PostgreSQL counts in another process' },
  async (t) => {
    const trial = await start(t, { status: 'paused' });
    const { service } = trial;
    await addPosts(trial, ['first']);
    /** How often the event loop turns while a replay is counted. */
    const turnsOf = async (): Promise<number> => {
      let turns = 0;
      const count = (): void => {
        turns += 1;
        next = setImmediate(count);
      };
      let next = setImmediate(count);
      await trial.replay({ scope: 'all', dryRun: true });
      clearImmediate(next);
      return turns;
    };
    const few = await turnsOf();
    await service.withInstance('default', async ({ database }) => {
      const events = database.names.table('$event');
      const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 120000)`;
      await database.write((tx) =>
        tx.run(sql`
          INSERT INTO ${events} (position, id, kind, collection, collection_name, record, revision, created, body)
          ${numbers} SELECT n, id || n, kind, collection, collection_name, record, revision, created, body
          FROM ${events}, n WHERE position = 1`),
      );
    });
    const many = await turnsOf();
    assert.ok(many >= few + 5, `${many} turns, ${few} with a short log`);
  },
);
