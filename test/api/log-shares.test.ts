// Both engines: the log is measured and trimmed by SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import type { TestAnswer } from '../support/service.ts';
import { listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const limitBytes = 300 * 1024;
const minute = 60_000;
/** Several looks at the logs. */
const lookedMsMax = 30_000;
const posts = '/api/collections/posts/records';
const docs = {
  name: 'posts',
  createRule: '',
  listRule: '',
  fields: [{ name: 'title', type: 'text', max: 20_000 }],
};
const message =
  'The event log is full, and the instance uses more than its share of it: its oldest events are still to be sent.';

interface Stage {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  /** Adds a post of five kilobytes to the default instance. */
  readonly flood: (number: number) => Promise<TestAnswer>;
  readonly create: () => Promise<TestAnswer>;
  readonly createInSmall: () => Promise<TestAnswer>;
  readonly operator: ReturnType<typeof operatorCaller>;
}

/** A service whose logs may have 300 KiB together, with two instances. */
async function start(t: TestContext): Promise<Stage> {
  const clock = new MovableClock();
  const flags = { 'webhook-bytes': String(limitBytes) };
  const service = await startWebhookService(t, { flags, parts: { clock } });
  const { key } = await makeOperatorKey(service);
  const operator = operatorCaller(service, key);
  await operator(201, 'POST /instances', { body: { slug: 'small', collections: [docs] } });
  const add = (path: string, title: string): Promise<TestAnswer> =>
    service.request(path, { method: 'POST', body: { title }, ...(path === posts && { token: true }) });
  return {
    service,
    clock,
    operator,
    flood: (number) => add(posts, `${number}`.padEnd(4_900, 'x')),
    create: () => add(posts, 'x'),
    createInSmall: () => add(`/i/small${posts}`, 'x'),
  };
}

async function toldOf({ operator }: Stage): Promise<readonly string[]> {
  const items = listOf((await operator(200, 'GET /events')).json.items);
  return items.flatMap(({ kind }) => (String(kind).startsWith('log.') ? [String(kind)] : []));
}

/** Returns how many bytes the bodies of the log of an instance have, and how many there are. */
async function logOf(
  { service }: Stage,
  slug = 'default',
): Promise<{ readonly bytes: number; readonly events: number }> {
  return service.withInstance(slug, async ({ database }) => {
    const { names } = database;
    const [row] = await database.tuples(
      sql`SELECT CAST(sum(length(body)) AS bigint), count(*) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
    );
    return { bytes: Number(row?.[0]), events: Number(row?.[1]) };
  });
}

test('a log that is full loses the oldest events of whoever has most, and nobody is refused', async (t) => {
  const stage = await start(t);
  const { service, clock, flood, create, createInSmall } = stage;
  await createInSmall();
  for (let number = 0; number < 120; number += 1) {
    clock.move(2_000);
    // A machine that is slow may add more than is trimmed between two looks.
    await eventually('it is added', async () => (await flood(number)).status === 201, lookedMsMax);
  }
  clock.move(2 * minute);
  await eventually('it is trimmed', async () => (await logOf(stage)).bytes < limitBytes, lookedMsMax);
  const { items } = await service.call('GET', '/api/webhooks/events?sort=-created&perPage=1');
  const { body } = await service.call('GET', `/api/webhooks/events/${listOf(items)[0].id}`);
  assert.match(JSON.stringify(body), /119x/, 'the newest event is there');
  assert.ok((await logOf(stage)).bytes > limitBytes * 0.9, 'no more than is needed was deleted');
  assert.equal((await logOf(stage, 'small')).events, 1);
  await eventually('nobody is refused', async () => (await create()).status === 201, lookedMsMax);
  assert.equal((await createInSmall()).status, 201);
  assert.ok((await toldOf(stage)).includes('log.warning'));
});

test('an event with a pending delivery is never trimmed: its instance is refused writes until it is delivered', async (t) => {
  const stage = await start(t);
  const { service, clock, flood, create, createInSmall, operator } = stage;
  const { id } = await service.addEndpoint({ status: 'paused' });
  await createInSmall();
  const first = await create();
  let added = 0;
  while (added < 100 && (await flood(added)).status === 201) added += 1;
  clock.move(2 * minute);
  await eventually('it is refused', async () => (await create()).status === 507, lookedMsMax);
  const refused = await create();
  assert.deepEqual(refused.json, {
    status: 507,
    message,
    data: { webhooks: { code: 'log_share_exceeded', message } },
  });
  assert.equal(refused.headers.get('retry-after'), '30');
  const path = `${posts}/${first.json.id}`;
  const change = { method: 'PATCH', token: true, body: { title: 'y' } } as const;
  const batch = { requests: [{ method: 'POST', url: posts, body: { title: 'z' } }] };
  assert.equal((await service.request(path, change)).status, 507);
  assert.equal(
    (await service.request('/api/batch', { method: 'POST', token: true, body: batch })).status,
    507,
  );
  assert.equal((await service.request(path, { method: 'DELETE', token: true })).status, 204);
  assert.equal((await logOf(stage, 'small')).events, 1, 'within its share nothing is trimmed');
  assert.equal((await createInSmall()).status, 201);
  const { events } = await logOf(stage);
  assert.ok(events > added && added > 50);
  assert.equal((await service.deliveries("status = 'pending'")).length, events);
  const { data } = await service.call('GET', '/api/health');
  assert.match(JSON.stringify(data.warnings), new RegExp(message));
  const metrics = (await operator(200, 'GET /metrics')).text.split('\n');
  assert.ok(metrics.includes('chancery_webhook_log_refused_instances 1'));
  assert.ok(metrics.some((line) => Number(/^chancery_webhook_log_bytes (\d+)/.exec(line)?.[1]) > limitBytes));

  await service.call('POST', `/api/webhooks/endpoints/${id}/resume`);
  await service.receiver.waitForRequests(events);
  await eventually('it is not refused', async () => (await create()).status === 201, lookedMsMax);
  await eventually('it is trimmed', async () => (await logOf(stage)).bytes < limitBytes, lookedMsMax);
  assert.equal((await service.deliveries("status = 'expired'")).length, 0);
  const told = ['log.warning', 'log.full', 'log.recovered'];
  await eventually('all is told', async () => (await toldOf(stage)).length >= 3, lookedMsMax);
  assert.deepEqual(new Set(await toldOf(stage)), new Set(told));
});
