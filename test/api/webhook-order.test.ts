// Both engines: lanes read what is due.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { answers, HeldSender, type SenderPort } from '../support/held-sender.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

interface Trial {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sender: () => HeldSender;
  readonly endpoint: string;
  readonly update: (record: string, title: string) => Promise<void>;
  /** What was sent so far: titles of records, in the order in which they were sent. */
  readonly titles: () => readonly string[];
  /** Resolves when exactly these were sent, and nothing more is to be sent at this time. */
  readonly sent: (expected: readonly string[]) => Promise<void>;
}

async function start(t: TestContext, options: Readonly<Record<string, unknown>>): Promise<Trial> {
  let sender = new HeldSender();
  const wrapSender = (real: SenderPort): SenderPort => (sender = new HeldSender(real));
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { wrapSender, clock } });
  const { id } = await service.addEndpoint(options);
  const titles = (): readonly string[] =>
    // webhooks.md section 1: the record's fields are in `data`.
    sender.given.map(({ body }) => JSON.parse(Buffer.from(body).toString('utf8')).data.title);
  return {
    service,
    clock,
    sender: () => sender,
    endpoint: `/api/webhooks/endpoints/${id}`,
    update: async (record, title) => {
      await service.call('PATCH', `/api/collections/posts/records/${record}`, { body: { title } });
    },
    titles,
    sent: async (expected) => {
      service.look();
      await eventually(`${expected.join(', ')} are sent`, () => titles().length >= expected.length);
      // A sign-in takes longer than a look for what is due.
      service.look();
      await service.signIn();
      assert.deepEqual(titles(), expected);
    },
  };
}

test('with the order of records, a change waits for the one before it of its record, and for no other', async (t) => {
  const { service, clock, sender, update, sent } = await start(t, { order: 'record', schedule: [60, 60] });
  const one = (await service.addPost('1a')).id;
  const other = (await service.addPost('2a')).id;
  await sent(['1a', '2a']);
  await update(one, '1b');
  await update(one, '1c');
  await update(other, '2b');
  await sent(['1a', '2a']);
  sender().succeed(sender().given.slice(1, 2));
  await sent(['1a', '2a', '2b']);
  sender().fail(sender().given.slice(0, 1));
  await eventually('the failure', async () => (await service.deliveries())[0].attempts.length === 1);
  await sent(['1a', '2a', '2b']);
  sender().succeed(sender().given.slice(2));
  clock.move(80_000);
  await sent(['1a', '2a', '2b', '1a']);
  sender().succeed(sender().given.slice(3));
  await sent(['1a', '2a', '2b', '1a', '1b']);
  sender().succeed(sender().given.slice(4));
  await sent(['1a', '2a', '2b', '1a', '1b', '1c']);
});

test('with the order of records, what waits goes on when the change before it is cancelled, exhausted or not wanted any more', async (t) => {
  const { service, sender, endpoint, update, sent } = await start(t, { order: 'record', schedule: [] });
  const one = (await service.addPost('a')).id;
  await sent(['a']);
  for (const title of ['b', 'c', 'd', 'e']) await update(one, title);
  await sent(['a']);
  sender().fail(sender().given);
  await sent(['a', 'b']);
  const [, , third] = await service.deliveries();
  await service.call('POST', `/api/webhooks/deliveries/${third.id}/cancel`);
  sender().succeed(sender().given.slice(1));
  await sent(['a', 'b', 'd']);
  await service.call('PATCH', endpoint, { body: { order: 'none' } });
  await sent(['a', 'b', 'd', 'e']);
});

test('with the order of records, what waits goes on when the change that has failed before it is cancelled', async (t) => {
  const { service, sender, update, sent } = await start(t, { order: 'record', schedule: [3_600] });
  const one = (await service.addPost('a')).id;
  await sent(['a']);
  await update(one, 'b');
  sender().fail(sender().given);
  await eventually('the failure', async () => (await service.deliveries())[0].attempts.length === 1);
  await sent(['a']);
  const [first] = await service.deliveries();
  await service.call('POST', `/api/webhooks/deliveries/${first.id}/cancel`);
  await sent(['a', 'b']);
});

test('with a strict order one delivery is sent at a time, and one that is exhausted stops all', async (t) => {
  const { service, clock, sender, endpoint, sent } = await start(t, { order: 'strict', schedule: [60] });
  assert.equal((await service.call('GET', endpoint)).onExhausted, 'pause');
  for (const title of ['a', 'b', 'c']) await service.addPost(title);
  await sent(['a']);
  sender().succeed(sender().given);
  await sent(['a', 'b']);
  sender().fail(sender().given.slice(1));
  await eventually('the failure', async () => (await service.deliveries())[1].attempts.length === 1);
  await sent(['a', 'b']);
  clock.move(80_000);
  await sent(['a', 'b', 'b']);
  sender().fail(sender().given.slice(2));
  const paused = await eventually('it is paused', async () => {
    const found = await service.call('GET', endpoint);
    return found.status === 'paused' ? found : undefined;
  });
  const [, second] = await service.deliveries();
  assert.equal(paused.statusReason, `The delivery ${second.id} is exhausted, and the order is strict.`);
  await sent(['a', 'b', 'b']);
  await service.call('POST', `${endpoint}/resume`);
  await sent(['a', 'b', 'b', 'c']);
});

test('with a strict order that skips, the next one follows an exhausted one', async (t) => {
  const { service, sender, sent } = await start(t, { order: 'strict', onExhausted: 'skip', schedule: [] });
  for (const title of ['a', 'b']) await service.addPost(title);
  await sent(['a']);
  sender().fail(sender().given);
  await sent(['a', 'b']);
});

for (const order of ['none', 'record'])
  test(`of the changes of a record that wait, an endpoint that coalesces is sent the last one (order ${order})`, async (t) => {
    const { service, sender, endpoint, update, titles } = await start(t, { coalesce: true, order });
    await service.call('POST', `${endpoint}/pause`);
    const one = (await service.addPost('1a')).id;
    const other = (await service.addPost('2a')).id;
    for (const title of ['1b', '1c']) await update(one, title);
    await update(other, '2b');
    sender().answer = answers.ok;
    await service.call('POST', `${endpoint}/resume`);
    await eventually(
      'all is over',
      async () => (await service.deliveries("status = 'pending'")).length === 0,
    );
    assert.deepEqual(titles().toSorted(), ['1c', '2b']);
    const cancelled = await service.deliveries("status = 'cancelled'");
    assert.deepEqual(
      cancelled.map(({ cause }) => cause),
      Array.from({ length: 3 }, () => 'A later change was sent instead.'),
    );
  });

test('an endpoint that coalesces is not sent an older state after a newer one', async (t) => {
  const { service, clock, sender, update, sent } = await start(t, { coalesce: true, schedule: [60] });
  const one = (await service.addPost('a')).id;
  await sent(['a']);
  sender().fail(sender().given);
  await eventually('the failure', async () => (await service.deliveries())[0].attempts.length === 1);
  await update(one, 'b');
  await sent(['a', 'b']);
  sender().succeed(sender().given.slice(1));
  clock.move(80_000);
  await eventually('the older one is over', async () => {
    service.look();
    return (await service.deliveries())[0].status === 'cancelled';
  });
  await sent(['a', 'b']);
});

test('what is older than its endpoint wants is not sent, and says so', async (t) => {
  const { service, clock, sender, endpoint, titles } = await start(t, { maxAgeSeconds: 60 });
  sender().answer = answers.ok;
  await service.call('POST', `${endpoint}/pause`);
  await service.addPost('old');
  clock.move(61_000);
  await service.addPost('new');
  await service.call('POST', `${endpoint}/resume`);
  await eventually('all is over', async () => (await service.deliveries("status = 'pending'")).length === 0);
  assert.deepEqual(titles(), ['new']);
  const [old] = await service.deliveries();
  assert.deepEqual([old.status, old.cause], ['expired', 'It exceeded the maximum age of its endpoint.']);
});

test('an endpoint with a rate limit is sent as many in a second', async (t) => {
  const { service, clock, sender, sent } = await start(t, { rateLimit: 2 });
  sender().answer = answers.ok;
  for (const title of ['a', 'b', 'c', 'd', 'e']) await service.addPost(title);
  await sent(['a', 'b']);
  clock.move(500);
  await sent(['a', 'b', 'c']);
  clock.move(1_000);
  await sent(['a', 'b', 'c', 'd', 'e']);
});

test('combinations of options that make no sense are refused by name', async (t) => {
  const { service, endpoint } = await start(t, { order: 'strict' });
  for (const [body, name] of [
    [{ coalesce: true }, 'coalesce'],
    [{ order: 'none', onExhausted: 'pause' }, 'onExhausted'],
    [{ order: 'none', coalesce: 'yes' }, 'coalesce'],
    [{ order: 'reverse' }, 'order'],
    [{ maxAgeSeconds: 0 }, 'maxAgeSeconds'],
    [{ rateLimit: -1 }, 'rateLimit'],
  ] as const) {
    const refused = await service.call('PATCH', endpoint, { body, status: 400 });
    assert.deepEqual(Object.keys(refused.data), [name]);
  }
});
