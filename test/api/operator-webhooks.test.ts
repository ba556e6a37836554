// Both engines: positions, leases and results are rows, and the feed is read by searches.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OperatorEventView } from '../../src/operator/operator-feed.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import {
  failing,
  idsOf,
  ok,
  startOperatorWebhooks,
  textsOf,
  verifies,
} from '../support/operator-webhook-stage.ts';
import { Receiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';

describe('an endpoint of the operator', () => {
  test('is sent each event from then on, signed, in the order of the feed', async (t) => {
    const { service, receiver, call, add, happen, shown } = await startOperatorWebhooks(t);
    await happen('before');
    const { id, secret, ...endpoint } = await add();
    assert.match(secret, /^whsec_/);
    assert.deepEqual([endpoint.events, endpoint.status, endpoint.behind], [['*'], 'active', 0]);
    const { nextCursor: cursor } = (await call(200, 'GET /events')).json;
    assert.equal(endpoint.cursor, cursor);
    const { id: instance } = (await call(201, 'POST /instances', { body: { slug: 'acme' } })).json;
    for (const text of ['a', 'b', 'c']) await happen(text);
    await call(200, 'POST /instances/acme/suspend');
    const requests = await receiver.waitForRequests(5);
    const feed = (await call(200, `GET /events?cursor=${cursor}`)).json;
    const { nextCursor } = feed;
    // What the description of the route says, to which the answer was compared.
    const items = feed.items as readonly OperatorEventView[];
    assert.deepEqual(
      requests.map(({ body }) => JSON.parse(body.toString())),
      items.map((event) => ({
        event: event.kind,
        timestamp: event.created.replace(' ', 'T'),
        instance_id: event.instance,
        collection: '',
        data: event.data,
      })),
    );
    assert.deepEqual(
      idsOf(requests),
      items.map((event) => event.id),
    );
    assert.equal(items[0]?.instance, instance);
    for (const request of requests) assert.deepEqual(verifies(request, [secret]), [true]);
    const [first] = requests;
    assert.deepEqual(
      ['x-service-event', 'x-service-attempt', 'x-service-delivery', 'content-type'].map(
        (name) => first?.headers[name],
      ),
      ['instance.created', '1', `${items[0]?.id}-${id}`, 'application/json'],
    );
    await eventually('the last one is settled', async () => (await shown(id)).cursor === nextCursor);
    const { lastStatus, lastError, failingSince, behind, skipped, attempts } = await shown(id);
    assert.deepEqual(
      { lastStatus, lastError, failingSince, behind, skipped, attempts },
      { lastStatus: 200, lastError: '', failingSince: '', behind: 0, skipped: 0, attempts: 0 },
    );
    assert.equal(receiver.openRequestsMost, 1);
    assert.equal(receiver.requests.length, 5);
    assert.deepEqual(
      service.log.filter(({ level }) => level !== 'info'),
      [],
    );
  });

  test('is sent the kinds that it names, after a cursor that it may begin at', async (t) => {
    const { receiver, call, add, happen, shown } = await startOperatorWebhooks(t);
    await happen('first');
    await call(201, 'POST /instances', { body: { slug: 'acme' } });
    await call(200, 'POST /instances/acme/suspend');
    const { id } = await add({ events: ['quota.*', 'instance.suspended'], from: '' });
    const [request] = await receiver.waitForRequests(1);
    assert.equal(request?.headers['x-service-event'], 'instance.suspended');
    await happen('passed over');
    const { nextCursor } = (await call(200, 'GET /events')).json;
    await eventually('it passes over others', async () => (await shown(id)).cursor === nextCursor);
    await call(200, `PATCH /endpoints/${id}`, { body: { events: ['instance.*'] } });
    await happen('now');
    const requests = await receiver.waitForRequests(2);
    assert.deepEqual(textsOf(requests.slice(1)), ['now']);
    assert.equal(receiver.requests.length, 2);
  });

  test('gets what is refused again by the schedule, then at its longest interval, and nothing overtakes it', async (t) => {
    const clock = new MovableClock();
    const { service, receiver, add, happen, shown } = await startOperatorWebhooks(t, {
      parts: { clock },
      receiver: { mode: failing },
    });
    const { id } = await add();
    await happen('a');
    await happen('b');
    const waits = [
      5,
      30,
      120,
      600,
      1_800,
      3_600,
      7_200,
      14_400,
      28_800,
      ...Array.from({ length: 8 }, () => 43_200),
    ];
    let since = '';
    for (const [index, seconds] of waits.entries()) {
      const state = await eventually(`attempt ${index + 1} failed`, async () => {
        const one = await shown(id);
        return one.attempts === index + 1 && one;
      });
      const waitMs = Date.parse(state.nextAttempt) - clock.now();
      assert.ok(
        waitMs >= 750 * seconds && waitMs <= 1_250 * seconds + 1,
        `${waitMs} ms after attempt ${index + 1}`,
      );
      since ||= state.failingSince;
      assert.deepEqual(
        [state.lastStatus, state.lastError, state.failingSince, state.behind],
        [500, 'The receiver answered with status 500.', since, 2],
      );
      assert.equal(receiver.requests.length, index + 1);
      clock.move(waitMs);
    }
    receiver.mode = ok;
    await eventually('both are sent', async () => (await shown(id)).behind === 0);
    const { failingSince, lastStatus } = await shown(id);
    assert.deepEqual([failingSince, lastStatus], ['', 200]);
    const requests = receiver.requests;
    assert.deepEqual(new Set(idsOf(requests.slice(0, waits.length))).size, 1);
    assert.equal(requests[2]?.headers['x-service-attempt'], '3');
    assert.deepEqual(textsOf(requests.slice(-2)), ['a', 'b'], `${requests.length} requests`);
    const warned = service.log.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.deepEqual(warned, ['An operator endpoint started failing.']);
  });

  test('waits as long as its receiver asks for, and one that is dead is tried again', async (t) => {
    const clock = new MovableClock();
    const mode = { kind: 'status', status: 503, headers: { 'retry-after': '600' } } as const;
    const { receiver, call, add, happen, shown } = await startOperatorWebhooks(t, {
      parts: { clock },
      receiver: { mode },
    });
    const { id } = await add();
    await happen('a');
    const { nextAttempt } = await eventually('it failed', async () => {
      const one = await shown(id);
      return one.attempts === 1 && one;
    });
    assert.equal(Date.parse(nextAttempt) - clock.now(), 600_000);
    // Closed: nobody listens there.
    const gone = await Receiver.open();
    const { url, port } = gone;
    await gone.close();
    await call(200, `PATCH /endpoints/${id}`, { body: { url } });
    const away = await eventually('it cannot be reached', async () => {
      const one = await shown(id);
      return one.lastStatus === null && one.attempts === 1 && one;
    });
    assert.match(away.lastError, /refused|connect/i);
    const back = await Receiver.open({ port });
    t.after(() => back.close());
    clock.move(10_000);
    assert.deepEqual(textsOf(await back.waitForRequests(1)), ['a']);
    assert.equal(receiver.requests.length, 1);
  });

  test('is sent nothing while it is paused, and then all that has waited', async (t) => {
    const { receiver, call, add, happen, shown } = await startOperatorWebhooks(t);
    const { id } = await add({ status: 'paused' });
    const other = await add({ url: receiver.urlAt('127.0.0.1', '/other') });
    await happen('a');
    await happen('b');
    // By then the other one would have been sent them as well.
    await eventually('the other is up to date', async () => (await shown(other.id)).behind === 0);
    assert.deepEqual(
      receiver.requests.map(({ path }) => path),
      ['/other', '/other'],
    );
    assert.equal((await shown(id)).behind, 2);
    await call(200, `PATCH /endpoints/${id}`, { body: { status: 'active' } });
    const requests = await receiver.waitForRequests(4);
    assert.deepEqual(textsOf(requests.slice(2)), ['a', 'b']);
    await call(204, `DELETE /endpoints/${id}`);
    await call(404, `GET /endpoints/${id}`);
    await call(404, `PATCH /endpoints/${id}`, { body: {} });
  });

  test('that is paused with an event on its way is sent no further one', async (t) => {
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { receiver, call, add, happen, shown } = await startOperatorWebhooks(t, {
      receiver: { mode: { kind: 'held', until } },
    });
    const { id } = await add();
    await happen('a');
    await happen('b');
    await receiver.waitForRequests(1);
    await call(200, `PATCH /endpoints/${id}`, { body: { status: 'paused' } });
    receiver.mode = ok;
    release();
    await eventually('the first one is settled', async () => (await shown(id)).behind === 1);
    const { id: other } = await add({ from: '', url: receiver.urlAt('127.0.0.1', '/other') });
    await eventually('another one is up to date', async () => (await shown(other)).behind === 0);
    assert.deepEqual(receiver.requests.filter(({ path }) => path === '/hook').length, 1);
  });

  test('is stopped in the middle: what is on its way ends and is not sent again, and the next start goes on', async (t) => {
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const before = await startOperatorWebhooks(t, { receiver: { mode: { kind: 'held', until } } });
    await before.add();
    for (const text of ['a', 'b', 'c']) await before.happen(text);
    await before.receiver.waitForRequests(1);
    const stopped = before.service.stop();
    release();
    await stopped;
    assert.deepEqual(textsOf(before.receiver.requests), ['a']);
    before.receiver.mode = ok;
    await startService(t, { data: before.service.data });
    assert.deepEqual(textsOf(await before.receiver.waitForRequests(3)), ['a', 'b', 'c']);
  });

  test('keeps its attempts and its place through a start between two of them', async (t) => {
    const clock = new MovableClock();
    const before = await startOperatorWebhooks(t, { parts: { clock }, receiver: { mode: failing } });
    const { id } = await before.add();
    await before.happen('a');
    await before.happen('b');
    await eventually('it failed', async () => (await before.shown(id)).attempts === 1);
    await before.service.stop();
    before.receiver.mode = ok;
    clock.move(10_000);
    await startService(t, { data: before.service.data, parts: { clock } });
    const requests = await before.receiver.waitForRequests(3);
    assert.deepEqual(textsOf(requests), ['a', 'a', 'b']);
    assert.deepEqual(
      requests.map(({ headers }) => headers['x-service-attempt']),
      ['1', '2', '1'],
    );
    assert.equal(new Set(idsOf(requests)).size, 2);
  });

  test('counts events that were deleted before it was sent them, and goes on behind them', async (t) => {
    const { service, receiver, call, add, happen, shown } = await startOperatorWebhooks(t);
    const { id } = await add({ status: 'paused' });
    for (const text of ['a', 'b', 'c']) await happen(text);
    const { cursor } = await shown(id);
    const { control } = service.app.data.home;
    // As an event deletes those too far before it.
    await control.write((tx) =>
      tx.run(sql`DELETE FROM ${tx.names.table('$operator_event')} WHERE position <= ${Number(cursor) + 2}`),
    );
    const waiting = await shown(id);
    assert.deepEqual([waiting.skipped, waiting.behind, Number(waiting.cursor)], [2, 1, Number(cursor) + 2]);
    await call(200, `PATCH /endpoints/${id}`, { body: { status: 'active' } });
    assert.deepEqual(textsOf(await receiver.waitForRequests(1)), ['c']);
    const { skipped, behind } = await eventually('it is settled', async () => {
      const one = await shown(id);
      return one.behind === 0 && one;
    });
    assert.deepEqual([skipped, behind], [2, 0]);
    const { message, members } = service.log.find(({ level }) => level === 'warn') ?? {};
    assert.equal(message, 'Events expired before they were sent to an operator endpoint.');
    assert.deepEqual(members, { endpoint: id, count: 2 });
  });
});
