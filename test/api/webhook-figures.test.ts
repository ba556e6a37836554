// Both engines: figures are summed by SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { endpointDaysKept, roundedLatency } from '../../src/deliveries/endpoint-days.ts';
import { tidyDeleted } from '../../src/deliveries/log/trim-log.ts';
import { eventually } from '../support/eventually.ts';
import { answers, HeldSender, type SenderPort } from '../support/held-sender.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const dayMs = 86_400_000;
const start = '2026-11-20 12:30:00.000Z';

test('latencies are rounded up to two digits', () => {
  for (const [ms, rounded] of [
    [-5, 1],
    [0, 1],
    [0.4, 1],
    [1, 1],
    [47, 47],
    [99.2, 100],
    [100, 100],
    [101, 110],
    [4_999, 5_000],
    [5_000, 5_000],
    [5_001, 5_100],
    [60_000, 60_000],
    [2_591_999_999, 2_600_000_000],
  ] as const)
    assert.equal(roundedLatency(ms), rounded, String(ms));
});

interface Stage {
  readonly service: WebhookService;
  /** Lets time pass, in milliseconds. */
  readonly pass: (ms: number) => Promise<void>;
  readonly id: string;
  /** Writes a record, whose deliveries end like this so many milliseconds later, and waits until nothing is to be sent any more. */
  readonly deliver: (answer: (typeof answers)[keyof typeof answers], afterMs: number) => Promise<void>;
  /** Waits until nothing is to be sent any more. */
  readonly idle: () => Promise<void>;
  readonly figures: (query?: string, status?: number) => Promise<Json>;
}

async function setUp(t: TestContext, options: object = {}): Promise<Stage> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock(Date.parse(start.replace(' ', 'T')));
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  const { id } = await service.addEndpoint({ schedule: [], ...options });
  const none = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const idle = (): Promise<unknown> =>
    eventually('all is over', async () => {
      service.look();
      return (await service.deliveries("status = 'pending'")).length === 0;
    });
  return {
    service,
    pass: async (ms) => {
      clock.move(ms);
      await service.signIn();
    },
    id,
    deliver: async (answer, afterMs) => {
      sender.answer = { ...answer, startedAt: clock.now(), timings: { ...none, totalMs: afterMs } };
      await service.addPost('a');
      await idle();
    },
    idle: async () => void (await idle()),
    figures: (query = '', status = 200) =>
      service.call('GET', `/api/webhooks/endpoints/${id}/figures?${query}`, { status }),
  };
}

/** Delivered, exhausted and expired. */
const countsOf = ({ delivered, exhausted, expired }: Json): Json => [delivered, exhausted, expired];

test('figures count how deliveries ended by days, with the time since the commit', async (t) => {
  const { service, pass, id, deliver, figures } = await setUp(t);
  for (let count = 0; count < 8; count += 1) await deliver(answers.ok, 120);
  await deliver(answers.ok, 4_999);
  await deliver(answers.missing, 10);
  await pass(dayMs);
  await deliver(answers.ok, 61_000);
  const { since, until, days, total } = await figures();
  assert.deepEqual([since, until, days.length], ['2026-10-23', '2026-11-21', 30]);
  assert.deepEqual(listOf(days).at(-2), {
    day: '2026-11-20',
    delivered: 9,
    exhausted: 1,
    expired: 0,
    latencyP50Ms: 120,
    latencyP95Ms: 5_000,
    latencyP99Ms: 5_000,
    within: [
      { seconds: 5, share: 0.9 },
      { seconds: 60, share: 0.9 },
    ],
  });
  assert.deepEqual(listOf(days).at(-1)?.['within'], [
    { seconds: 5, share: 0 },
    { seconds: 60, share: 0 },
  ]);
  assert.deepEqual([countsOf(total), total.latencyP50Ms, total.latencyP99Ms], [[10, 1, 0], 120, 61_000]);
  assert.deepEqual(days[0].within[0], { seconds: 5, share: null });
  const one = await figures('since=2026-11-20&until=2026-11-20&within=0.12,0.11,62');
  assert.deepEqual([one.days.length, one.total.delivered], [1, 9]);
  assert.deepEqual(
    listOf(one.total.within).map(({ share }) => share),
    [0.8, 0, 0.9],
  );
  // A copy has them too.
  const { key } = await makeOperatorKey(service);
  const path = '/api/operator/instances/default/clone';
  const cloned = await service.request(path, { method: 'POST', token: key, body: { slug: 'copy' } });
  assert.equal(cloned.status, 201, cloned.text);
  const copied = await service.request(`/i/copy/api/webhooks/endpoints/${id}/figures`, { token: true });
  assert.deepEqual(copied.json.total, total);
});

test('what is sent again after it was delivered, replays and tests change no figure', async (t) => {
  const { service, pass, id, deliver, idle, figures } = await setUp(t);
  await deliver(answers.ok, 100);
  await pass(3_600_000);
  const [{ id: first }] = await service.deliveries();
  await service.call('POST', `/api/webhooks/endpoints/${id}/test`);
  await service.call('POST', `/api/webhooks/deliveries/${first}/retry`);
  await idle();
  assert.equal((await service.call('GET', `/api/webhooks/deliveries/${first}`)).attempts.length, 2);
  const replay = await service.call('POST', `/api/webhooks/endpoints/${id}/replay`, {
    body: { scope: 'all' },
  });
  await eventually('it is replayed', async () => {
    service.look();
    return (await service.call('GET', `/api/webhooks/replays/${replay.id}`)).state === 'done';
  });
  await idle();
  assert.ok((await service.call('GET', `/api/webhooks/deliveries/${first}`)).attempts.length > 2);
  const { total } = await figures();
  assert.deepEqual([countsOf(total), total.latencyP99Ms], [[1, 0, 0], 100]);
  // One that was not delivered counts when it is.
  await deliver(answers.missing, 10);
  const [{ id: second }] = await service.deliveries("status = 'exhausted'");
  await deliver(answers.ok, 100);
  await service.call('POST', `/api/webhooks/deliveries/${second}/retry`);
  await idle();
  assert.deepEqual(countsOf((await figures()).total), [3, 1, 0]);
});

test('deliveries that exceed the maximum age of their endpoint are counted as expired', async (t) => {
  const { service, pass, id, deliver, idle, figures } = await setUp(t, { maxAgeSeconds: 60 });
  await deliver(answers.ok, 100);
  await service.call('POST', `/api/webhooks/endpoints/${id}/pause`);
  await service.addPost('late');
  await pass(2 * dayMs);
  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  await idle();
  const { days, total } = await figures();
  assert.deepEqual(
    [countsOf(listOf(days).at(-1) ?? {}), countsOf(total)],
    [
      [0, 0, 1],
      [1, 0, 1],
    ],
  );
  assert.deepEqual(total.within[0], { seconds: 5, share: 0.5 });
});

test('days are kept for as long as they are documented', async (t) => {
  const { service, pass, deliver, figures } = await setUp(t);
  await deliver(answers.ok, 100);
  const tidy = (): Promise<void> => service.withInstance('default', tidyDeleted);
  await pass(endpointDaysKept * dayMs);
  await tidy();
  const range = 'since=2026-11-20&until=2026-11-21';
  assert.equal((await figures(range)).total.delivered, 1);
  await pass(dayMs);
  await tidy();
  assert.equal((await figures(range)).total.delivered, 0);
});

test('a range or times that figures cannot have are refused', async (t) => {
  const { figures } = await setUp(t);
  for (const [query, name] of [
    ['since=soon', 'since'],
    ['until=2026-13-01', 'until'],
    ['since=2026-11-21&until=2026-11-20', 'since'],
    ['since=2024-01-01&until=2026-01-01', 'since'],
    ['within=5,', 'within'],
    ['within=0', 'within'],
    ['within=-5', 'within'],
    ['within=123', 'within'],
    ['within=0.0001', 'within'],
    ['within=1,2,3,4,5,6', 'within'],
    ['within=9999999', 'within'],
  ] as const) {
    const { data } = await figures(query, 400);
    assert.deepEqual(Object.keys(data), [name], query);
  }
  await figures('within=0.25,120,2600000');
});
