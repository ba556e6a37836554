// Both engines: attempts are counted by SQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { readLanes } from '../../src/deliveries/lane-store.ts';
import { countWaitingOfEach } from '../../src/deliveries/log/count-waiting.ts';
import { answers, HeldSender, type SenderPort } from '../support/held-sender.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { listOf, startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

const hourMs = 3_600_000;
const start = '2026-11-20 12:30:00.000Z';

interface Stage {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly id: string;
  /** From now on attempts end like this, after so many milliseconds. */
  readonly answerWith: (answer: (typeof answers)[keyof typeof answers], totalMs: number) => void;
  /** Writes a record and waits until nothing is to be sent any more. */
  readonly deliver: (title: string) => Promise<void>;
  readonly stats: (query?: string, status?: number) => Promise<Json>;
}

async function setUp(t: TestContext, options: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock(Date.parse(start.replace(' ', 'T')));
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  const { id } = await service.addEndpoint(options);
  const none = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  return {
    service,
    clock,
    id,
    answerWith: (answer, totalMs) => {
      sender.answer = { ...answer, startedAt: clock.now(), timings: { ...none, totalMs } };
    },
    deliver: async (title) => {
      await service.addPost(title);
      await eventually('all is over', async () => {
        service.look();
        return (await service.deliveries("status = 'pending'")).length === 0;
      });
    },
    stats: (query = '', status = 200) =>
      service.call('GET', `/api/webhooks/endpoints/${id}/stats?${query}`, { status }),
  };
}

test('statistics of an endpoint count its attempts by hours and by days', async (t) => {
  const { service, clock, id, answerWith, deliver, stats } = await setUp(t, { schedule: [] });
  answerWith(answers.ok, 100);
  await service.call('POST', `/api/webhooks/endpoints/${id}/test`);
  for (const title of ['a', 'b', 'c']) await deliver(title);
  answerWith(answers.ok, 4_000);
  await deliver('d');
  clock.move(hourMs);
  answerWith(answers.missing, 20);
  await deliver('e');
  answerWith(answers.silent, 15_000);
  await deliver('f');

  const byHour = await stats();
  assert.deepEqual(listOf(byHour.times).slice(-2), ['2026-11-20 12:00:00.000Z', '2026-11-20 13:00:00.000Z']);
  const lastTwo = Object.entries<Json[]>(byHour.columns).map(([name, column]) => [name, column.slice(-2)]);
  assert.deepEqual(Object.fromEntries(lastTwo), {
    attempts: [4, 2],
    delivered: [4, 0],
    failed: [0, 2],
    exhausted: [0, 2],
    // Each in the middle of its range.
    latencyP50Ms: [100, null],
    latencyP95Ms: [3900, null],
    latencyP99Ms: [3900, null],
  });
  const { times, columns, total } = byHour;
  for (const column of Object.values<Json[]>(columns)) assert.equal(column.length, times.length);
  assert.deepEqual(total, {
    attempts: 6,
    delivered: 4,
    failed: 2,
    exhausted: 2,
    latencyP50Ms: 100,
    latencyP95Ms: 3900,
    latencyP99Ms: 3900,
    successRate: 4 / 6,
    failures: { status: 1, timeout: 1 },
  });

  const byDay = await stats('from=2026-11-18&to=2026-11-22&step=day');
  assert.deepEqual(
    byDay.times,
    ['18', '19', '20', '21'].map((day) => `2026-11-${day} 00:00:00.000Z`),
  );
  assert.deepEqual(byDay.columns.attempts, [0, 0, 6, 0]);
  const before = await stats('to=2026-11-20 13:00:00.000Z');
  assert.equal(before.total.attempts, 4, 'the end is not included');
});

test('statistics of all endpoints count their attempts together, and the events themselves', async (t) => {
  const { service, clock, id, answerWith, deliver } = await setUp(t, { schedule: [] });
  const other = await service.addEndpoint({ schedule: [] });
  answerWith(answers.ok, 100);
  await deliver('a');
  clock.move(hourMs);
  answerWith(answers.missing, 20);
  await deliver('b');
  const stats = (query: string): Promise<Json> => service.call('GET', `/api/webhooks/stats?${query}`);
  const range = 'from=2026-11-20 11:00:00.000Z&to=2026-11-20 14:00:00.000Z&step=hour';
  const expected = {
    from: '2026-11-20 11:00:00.000Z',
    to: '2026-11-20 14:00:00.000Z',
    step: 'hour',
    times: ['11', '12', '13'].map((hour) => `2026-11-20 ${hour}:00:00.000Z`),
    columns: {
      events: [0, 1, 1],
      attempts: [0, 2, 2],
      delivered: [0, 2, 0],
      failed: [0, 0, 2],
      exhausted: [0, 0, 2],
      latencyP50Ms: [null, 100, null],
      latencyP95Ms: [null, 100, null],
      latencyP99Ms: [null, 100, null],
    },
    total: {
      events: 2,
      attempts: 4,
      delivered: 2,
      failed: 2,
      exhausted: 2,
      latencyP50Ms: 100,
      latencyP95Ms: 100,
      latencyP99Ms: 100,
      successRate: 0.5,
      failures: { status: 2 },
    },
    failing: [],
    neverMatched: [],
    waiting: 0,
    waitingMax: 10_000,
    waitingIsAtLeast: false,
    oldestWaiting: '',
  };
  assert.deepEqual(await stats(range), expected);
  await service.call('DELETE', `/api/webhooks/endpoints/${other.id}`);
  assert.deepEqual((await stats(range)).total, expected.total, 'what was counted stays');
  assert.deepEqual((await stats('from=2026-11-19&to=2026-11-21&step=day')).columns.events, [0, 2]);

  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  await service.addPost('c');
  assert.equal((await stats(range)).waiting, 0, 'a paused endpoint is sent nothing');
  const { data } = await service.call('GET', '/api/webhooks/stats?step=week', { status: 400 });
  assert.deepEqual(Object.keys(data), ['step']);
});

test('statistics name the endpoints that took nothing of what was attempted', async (t) => {
  const { service, clock, id, answerWith, deliver } = await setUp(t, { schedule: [5] });
  const failing = async (query = ''): Promise<Json> =>
    (await service.call('GET', `/api/webhooks/stats?${query}`)).failing;
  assert.deepEqual(await failing(), [], 'nothing was attempted');
  answerWith(answers.ok, 100);
  await deliver('taken by the first alone');
  clock.move(hourMs);
  const { id: second } = await service.addEndpoint({ schedule: [] });
  answerWith(answers.missing, 20);
  await service.addPost('taken by nobody');
  await eventually('both attempts of the first are over', async () => {
    clock.move(6_000);
    service.look();
    return (await service.deliveries("status = 'exhausted'")).length === 2;
  });
  assert.deepEqual(await failing(), [{ endpoint: second, attempts: 1 }], 'a day has one of the first');
  const lastHour = 'from=2026-11-20 13:00:00.000Z&to=2026-11-20 14:00:00.000Z';
  assert.deepEqual(await failing(lastHour), [
    { endpoint: id, attempts: 2 },
    { endpoint: second, attempts: 1 },
  ]);
  await service.call('DELETE', `/api/webhooks/endpoints/${id}`);
  assert.deepEqual(await failing(lastHour), [{ endpoint: second, attempts: 1 }]);
});

test('statistics of an endpoint show what waits for it, and since when', async (t) => {
  const { service, clock, id, answerWith, deliver, stats } = await setUp(t);
  answerWith(answers.ok, 5);
  await deliver('sent');
  assert.deepEqual(await waitingOf(stats()), ['closed', 0, '']);
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  await service.addPost('first');
  clock.move(hourMs);
  await service.addPost('second');
  assert.deepEqual(await waitingOf(stats()), ['closed', 2, start]);
});

async function waitingOf(stats: Promise<Json>): Promise<Json[]> {
  const { state, waiting, oldestWaiting } = await stats;
  return [state, waiting, oldestWaiting];
}

test('statistics refuse times and steps that make no sense', async (t) => {
  const { service, stats } = await setUp(t);
  const cases: readonly (readonly [query: string, name: string])[] = [
    ['from=yesterday', 'from'],
    ['to=x', 'to'],
    ['from=2026-11-20&to=2026-11-20', 'from'],
    ['step=week', 'step'],
    ['from=2020-01-01&step=hour', 'step'],
    ['from=1970-01-01', 'step'],
  ];
  for (const [query, name] of cases) {
    const { data } = await stats(query, 400);
    assert.deepEqual(Object.keys(data), [name], query);
  }
  await service.call('GET', '/api/webhooks/endpoints/nope/stats', { status: 404 });
});

test('lanes are listed by their state, with why and until when', async (t) => {
  const { service, clock, id, answerWith } = await setUp(t, { schedule: [1, 1, 1, 1, 1, 1, 1, 1] });
  const other = await service.addEndpoint({ events: ['record.delete'] });
  const lanes = (filter = ''): Promise<Json> =>
    service.call('GET', `/api/webhooks/lanes?filter=${encodeURIComponent(filter)}`);
  answerWith(answers.down, 5);
  await service.addPost('a');
  const open = await eventually('the lane is open', async () => {
    clock.move(2_000);
    service.look();
    const { items } = await lanes("state = 'open'");
    return items.length === 0 ? undefined : items;
  });
  assert.equal(open.length, 1);
  const { since, probeAt, ...rest } = open[0];
  assert.deepEqual(rest, {
    id,
    url: service.receiver.url,
    status: 'active',
    state: 'open',
    cause: 'Status 500.',
    undecided: '',
    heldUntil: '',
  });
  assert.ok(since >= start && probeAt > since, `${since} ${probeAt}`);
  const all = await lanes();
  assert.deepEqual(
    listOf(all.items).map((lane) => [lane.id, lane.state]),
    [
      [id, 'open'],
      [other.id, 'closed'],
    ],
  );
});

test('a list of endpoints includes how each does when asked for', async (t) => {
  const { service, clock, id, answerWith } = await setUp(t, { schedule: [60] });
  const idle = await service.addEndpoint({ events: ['record.delete'] });
  const paused = await service.addEndpoint({ schedule: [] });
  await service.call('POST', `/api/webhooks/endpoints/${paused.id}/pause`);
  answerWith(answers.ok, 100);
  await service.addPost('a');
  await eventually('a is delivered', async () => {
    service.look();
    return (await service.deliveries("status = 'delivered'")).length === 1;
  });
  answerWith(answers.missing, 20);
  clock.move(hourMs);
  await service.addPost('b');
  await eventually('b is retried', async () => {
    service.look();
    const pending = await service.deliveries("status = 'pending'");
    return pending.some(({ attempts }) => listOf(attempts).length > 0);
  });
  const path = '/api/webhooks/endpoints?include=stats';
  const items = listOf((await service.call('GET', path)).items);
  assert.deepEqual(
    items.map((item) => item.id),
    [id, idle.id, paused.id],
  );
  const [busy, none, held] = items.map(({ stats }) => stats);
  assert.partialDeepStrictEqual(busy, {
    attempts: 2,
    delivered: 1,
    exhausted: 0,
    successRate: 0.5,
    waiting: 1,
    waitingIsAtLeast: false,
  });
  assert.match(busy.oldestWaiting, /^2026-11-20 13:30/);
  const lane = { state: 'closed', cause: '', undecided: '', since: '', probeAt: '', heldUntil: '' };
  assert.deepEqual(none, {
    attempts: 0,
    delivered: 0,
    exhausted: 0,
    successRate: null,
    waiting: 0,
    waitingIsAtLeast: false,
    oldestWaiting: '',
    lane,
  });
  assert.equal(held.waiting, 2);
  assert.match(held.oldestWaiting, /^2026-11-20 12:30/);
  clock.move(25 * hourMs);
  await service.signIn();
  const [later] = listOf((await service.call('GET', `${path}&perPage=1`)).items);
  assert.equal(later?.stats.attempts, 0, 'only the last 24 hours count');
  const [plain] = listOf((await service.call('GET', '/api/webhooks/endpoints')).items);
  assert.ok(plain !== undefined && !('stats' in plain));
  const refused = await service.call('GET', '/api/webhooks/endpoints?include=secrets', { status: 400 });
  assert.equal(refused.data.include.message, 'Expected include to be stats.');
});

test('what waits for several endpoints is counted among the newest deliveries, and says where it ends', async (t) => {
  const { service, id } = await setUp(t);
  const other = await service.addEndpoint();
  for (const one of [id, other.id]) await service.call('POST', `/api/webhooks/endpoints/${one}/pause`);
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  const counts = (max?: number) =>
    service.withInstance('default', async ({ database }) => {
      const lanes = await readLanes(database);
      const cursors = new Map([...lanes].map(([number, { cursor }]) => [number, cursor]));
      const countOf = await countWaitingOfEach(database, cursors, max);
      return [...cursors.keys()].map((number) => countOf(number));
    });
  for (const { waiting, isAtLeast } of await counts()) assert.deepEqual([waiting, isAtLeast], [3, false]);
  for (const { waiting, isAtLeast } of await counts(4)) assert.deepEqual([waiting, isAtLeast], [2, true]);
});
