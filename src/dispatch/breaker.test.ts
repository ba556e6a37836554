// Both engines: what is known of an endpoint is stored, and taken over by other nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCertificate } from '../../test/support/certificate.ts';
import { deliveryKeys } from '../../test/support/delivery-rows.ts';
import { eventually } from '../../test/support/eventually.ts';
import { answers } from '../../test/support/held-sender.ts';
import { startLaneTrial as start, type LaneTrial } from '../../test/support/lane-trial.ts';
import { sql } from '../sql/sql.ts';
import { closeLane } from '../deliveries/lane-store.ts';

const second = 1_000;
const day = 86_400 * second;

async function allDelivered({ service, wake }: LaneTrial): Promise<void> {
  wake();
  await eventually('all are delivered', async () => {
    return (await service.deliveries("status != 'delivered'")).length === 0;
  });
}

test('an endpoint that is down for a day gets at most 250 requests, and its backlog when it recovers', async (t) => {
  const trial = await start(t);
  const { service, clock, sender, addPosts, idle, untilNext } = trial;
  await service.addEndpoint({ maxInFlight: 8 });
  sender.answer = answers.down;
  await addPosts(300);
  const end = clock.now() + day;
  while (clock.now() < end) await untilNext();
  const requests = await idle();
  t.diagnostic(`${requests} requests in a day`);
  assert.ok(requests <= 250 && requests >= 100, `${requests} requests`);
  await service.signIn();
  const waiting = await service.deliveries("status = 'pending'");
  assert.equal(waiting.length, 300);
  const untried = waiting.filter(({ attempts }) => attempts.length === 0);
  assert.ok(untried.length >= 300 - requests, 'what waits uses up no attempts');
  sender.answer = answers.ok;
  sender.openMost = 0;
  await untilNext();
  // All of it at this time: also what has failed, whatever its own schedule says.
  await allDelivered(trial);
  assert.ok(sender.openMost <= 8, `${sender.openMost} at once`);
});

for (const [name, answer] of [
  ['is silent', answers.silent],
  ['answers 404 to everything', answers.missing],
] as const)
  test(`an endpoint that ${name} opens its breaker`, async (t) => {
    const { service, sender, addPosts, idle } = await start(t);
    await service.addEndpoint();
    sender.answer = answer;
    await addPosts(50);
    const requests = await idle();
    assert.ok(requests <= 16, `${requests} requests`);
  });

test('an open breaker survives idleness, a restart and a move to another node', async (t) => {
  const { service, sender, addPosts, idle, untilNext, restart, passAround } = await start(t);
  await service.addEndpoint();
  sender.answer = answers.down;
  await addPosts(20);
  await untilNext();
  // A probe, after which the next one is later.
  const requests = await idle();
  await service.addPost();
  assert.equal(await idle(), requests);
  await restart();
  await service.addPost();
  assert.equal(await idle(), requests, 'after a restart');
  passAround();
  await service.addPost();
  assert.equal(await idle(), requests, 'after another owner');
  await untilNext();
  assert.equal(await idle(), requests + 1);
});

test('the state of a lane moves with its instance to another node', async (t) => {
  const { service, sender, addPosts, idle, wake, passAround } = await start(t);
  await service.addEndpoint();
  sender.answer = answers.down;
  await addPosts(20);
  const requests = await idle();
  await service.withInstance('default', async ({ database }) => {
    const [key] = await deliveryKeys(database);
    assert.ok(key);
    await database.write((tx) => closeLane(tx, key.endpoint));
  });
  sender.answer = answers.ok;
  assert.equal(await idle(), requests, 'nobody else was the owner');
  passAround();
  wake();
  await eventually('it is sent more', () => sender.given.length > requests);
});

test('deliveries that failed with the whole endpoint are sent when it recovers, whatever their schedule', async (t) => {
  const trial = await start(t);
  const { service, sender, addPosts, untilNext } = trial;
  await service.addEndpoint({ schedule: [3_600, 3_600] });
  sender.answer = answers.down;
  await addPosts(10);
  await untilNext();
  sender.answer = answers.ok;
  await allDelivered(trial);
});

test('an endpoint that answered lately gets more than two requests at once, also after its instance was idle', async (t) => {
  const { service, sender, addPosts, idle, wake } = await start(t);
  await service.addEndpoint();
  await addPosts(1);
  await idle();
  sender.answer = undefined;
  await addPosts(4);
  wake();
  await eventually('all are sent', () => sender.given.length === 5);
  sender.succeed(sender.given.slice(1));
});

test('after five days the endpoint is disabled; resumed, it gets its backlog', async (t) => {
  const trial = await start(t);
  const { service, sender, addPosts, wake, idle, untilNext, passAround } = trial;
  const { id } = await service.addEndpoint();
  const path = `/api/webhooks/endpoints/${id}`;
  sender.answer = answers.down;
  await addPosts(30);
  await idle();
  // lane.test.ts waits for five days.
  await service.withInstance('default', ({ database }) =>
    database.write((tx) =>
      tx.run(
        sql`UPDATE ${tx.names.table('$lane')} SET since = since - CAST(${5 * day} AS bigint) WHERE ${tx.names.instance.condition}`,
      ),
    ),
  );
  passAround();
  wake();
  await untilNext();
  wake();
  const disabled = await eventually('it is disabled', async () => {
    const endpoint = await service.call('GET', path);
    return endpoint.status === 'disabled' ? endpoint : undefined;
  });
  assert.equal(disabled.statusReason, 'The receiver was down for five days.');
  const requests = sender.given.length;
  await addPosts(3);
  assert.equal(sender.given.length, requests);
  sender.answer = answers.ok;
  assert.equal((await service.call('POST', `${path}/resume`)).status, 'active');
  await idle();
  await allDelivered(trial);
});

test('Retry-After delays all deliveries of the endpoint, also in another process', async (t) => {
  const { service, clock, sender, addPosts, idle, restart } = await start(t);
  await service.addEndpoint({ maxInFlight: 1 });
  sender.answer = {
    kind: 'status',
    status: 429,
    isEndpointWide: true,
    retryAfterSeconds: 600,
    cause: 'Status 429.',
  };
  await addPosts(5);
  assert.equal(await idle(), 1);
  await restart();
  assert.equal(await idle(), 1);
  sender.answer = answers.ok;
  clock.move(599 * second);
  assert.equal(await idle(), 1);
  clock.move(second);
  await idle();
  assert.equal((await service.deliveries("status = 'delivered'")).length, 5);
});

for (const [name, change] of [
  ['has another URL', { url: 'http://127.0.0.1:9/other' }],
  ['is resumed', undefined],
] as const)
  test(`an endpoint that ${name} is tried at once`, async (t) => {
    const { service, sender, addPosts, idle } = await start(t);
    const { id } = await service.addEndpoint();
    const path = `/api/webhooks/endpoints/${id}`;
    sender.answer = answers.down;
    await addPosts(20);
    const requests = await idle();
    sender.answer = answers.ok;
    if (change === undefined) {
      await service.call('POST', `${path}/pause`);
      await service.call('POST', `${path}/resume`);
    } else await service.call('PATCH', path, { body: change });
    await idle();
    assert.ok(sender.given.length > requests);
    // Those that failed have their own schedule.
    await eventually('the others are delivered', async () => {
      return (await service.deliveries("status = 'delivered'")).length >= 15;
    });
  });

/** 24 to 64 bytes in base64, as secrets are made. */
const secretOf = (count: number): string => `whsec_${Buffer.alloc(32, count).toString('base64')}`;

for (const [what, method, path, bodyOf] of [
  ['a resume', 'POST', '/resume', () => ({ backlog: 'drain' })],
  ['another URL', 'PATCH', '', (count: number) => ({ url: `http://127.0.0.1:9/${count}` })],
  ['another header', 'PATCH', '', (count: number) => ({ headers: { 'x-key': `${count}` } })],
  ['another secret', 'POST', '/secret/rotate', (count: number) => ({ secret: secretOf(count) })],
] as const)
  test(`${what} makes one probe of a failing endpoint due`, async (t) => {
    const trial = await start(t);
    const { service, sender, addPosts, idle } = trial;
    const { id } = await service.addEndpoint();
    sender.answer = answers.down;
    await addPosts(20);
    const requests = await idle();
    for (const count of [1, 2]) {
      await service.call(method, `/api/webhooks/endpoints/${id}${path}`, { body: bodyOf(count) });
      assert.equal(await idle(), requests + count);
    }
    sender.answer = answers.ok;
    await service.call(method, `/api/webhooks/endpoints/${id}${path}`, { body: bodyOf(3) });
    await allDelivered(trial);
  });

test('a manual retry makes one probe of a failing endpoint due, and changes nothing for a healthy one', async (t) => {
  const trial = await start(t);
  const { service, sender, addPosts, idle } = trial;
  const { id, updated } = await service.addEndpoint();
  const path = `/api/webhooks/endpoints/${id}`;
  await addPosts(1);
  await idle();
  const [first] = await service.deliveries();
  await service.call('POST', `/api/webhooks/deliveries/${first.id}/retry`);
  await idle();
  assert.equal((await service.call('GET', path)).updated, updated);
  sender.answer = answers.down;
  await addPosts(20);
  const requests = await idle();
  await service.call('POST', `/api/webhooks/deliveries/${first.id}/retry`);
  assert.equal(await idle(), requests + 1);
  sender.answer = answers.ok;
  await service.call('POST', `/api/webhooks/deliveries/${first.id}/retry`);
  await allDelivered(trial);
});

test('a successful test closes the breaker, and one that fails does not', async (t) => {
  const trial = await start(t);
  const { service, sender, addPosts, idle } = trial;
  const { id } = await service.addEndpoint();
  sender.answer = answers.down;
  await addPosts(20);
  const requests = await idle();
  for (const answer of [answers.down, answers.ok]) {
    sender.answer = answer;
    const before = sender.given.length;
    await trial.test(id);
    if (answer === answers.down) assert.deepEqual([before, await idle()], [requests, requests + 1]);
  }
  await eventually(
    'all are delivered',
    async () => (await service.deliveries("status = 'pending'")).length === 0,
  );
});

test('a receiver that is reachable again gets its backlog before its probe is due', async (t) => {
  const trial = await start(t);
  const { service, sender, clock, addPosts, idle, untilNext } = trial;
  const { cert: ca } = makeCertificate({ names: ['ca.test'] });
  await service.addEndpoint({ url: 'https://shop.example.com/hook', ca });
  sender.answer = { ...answers.down, kind: 'connect', status: null };
  await addPosts(10);
  for (let probe = 0; probe < 8; probe += 1) await untilNext();
  const requests = await idle();
  clock.move(30_000);
  trial.shakeHands();
  assert.deepEqual([sender.handshakes, await idle()], [1, requests]);
  assert.deepEqual(sender.handshakeTls, { ca, client: null });
  sender.isReached = true;
  sender.answer = answers.ok;
  clock.move(30_000);
  trial.shakeHands();
  await allDelivered(trial);
});
