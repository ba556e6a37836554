// Both engines: options and secrets are rows, which transactions change.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
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

describe('the secret of an endpoint of the operator', () => {
  test('is rotated, and until the overlap ends both sign', async (t) => {
    const clock = new MovableClock();
    const { receiver, call, add, happen, shown } = await startOperatorWebhooks(t, { parts: { clock } });
    const { id, secret } = await add();
    const rotated = await call(200, `POST /endpoints/${id}/secret/rotate`, { body: { overlapSeconds: 60 } });
    assert.equal(rotated.headers.get('cache-control'), 'no-store');
    const { secret: next, previousSecretUntil } = rotated.json;
    assert.equal((await shown(id)).previousSecretUntil, previousSecretUntil);
    await happen('a');
    const [during] = await receiver.waitForRequests(1);
    assert.ok(during);
    assert.deepEqual(verifies(during, [next, secret]), [true, true]);
    clock.move(61_000);
    await happen('b');
    const [, after] = await receiver.waitForRequests(2);
    assert.ok(after);
    assert.deepEqual(verifies(after, [next, secret]), [true, false]);
    const body = { secret: next };
    await call(400, `POST /endpoints/${id}/secret/rotate`, { body });
  });

  test('is shown by no later answer, log or row', async (t) => {
    const { service, receiver, call, add, happen } = await startOperatorWebhooks(t);
    const own = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const { id, secret } = await add({ secret: own });
    assert.equal(secret, own);
    await happen('a');
    const [request] = await receiver.waitForRequests(1);
    assert.ok(request);
    assert.deepEqual(verifies(request, [own]), [true]);
    const answers = [
      await call(200, 'GET /endpoints'),
      await call(200, `GET /endpoints/${id}`),
      await call(200, `PATCH /endpoints/${id}`, { body: { description: 'told' } }),
      await call(200, `POST /endpoints/${id}/test`),
      await call(200, 'GET /audit'),
    ];
    const { control } = service.app.data.home;
    const rows = await control.all(sql`SELECT * FROM ${control.names.table('$operator_endpoint')}`);
    for (const text of [...answers.map((answer) => answer.text), JSON.stringify([rows, service.log])])
      assert.ok(!text.includes(own.slice(6)), text);
  });
});

describe('endpoints of the operator', () => {
  test('may be where those of instances may be, and follow no redirect', async (t) => {
    const other = await Receiver.open();
    t.after(() => other.close());
    const { receiver, add, happen, shown } = await startOperatorWebhooks(t, {
      receiver: { mode: { kind: 'redirect', location: other.url } },
    });
    const { id } = await add();
    await happen('a');
    await receiver.waitForRequests(1);
    const { lastError } = await eventually('it failed', async () => {
      const one = await shown(id);
      return one.lastStatus === 302 && one;
    });
    assert.equal(lastError, 'The receiver answered with a redirect (status 302), which is not followed.');
    assert.equal(other.connectionCount, 0);
  });

  test('are refused in private networks, and not sent to once the server allows that no more', async (t) => {
    const before = await startOperatorWebhooks(t, { receiver: { mode: failing } });
    const { id } = await before.add();
    await before.happen('a');
    await before.receiver.waitForRequests(1);
    await before.service.stop();
    const service = await startService(t, { data: before.service.data, flags: { dev: false } });
    const { key } = await makeOperatorKey(service);
    const call = operatorCaller(service, key);
    for (const url of [
      'http://127.0.0.1:9/hook',
      'https://127.0.0.1/',
      'https://10.0.0.1/',
      'http://example.com/',
    ]) {
      const { json } = await call(400, 'POST /endpoints', { body: { url } });
      assert.deepEqual(Object.keys(json.data), ['url'], url);
    }
    // Resumed, it is tried at once.
    await call(200, `PATCH /endpoints/${id}`, { body: { status: 'paused' } });
    await call(200, `PATCH /endpoints/${id}`, { body: { status: 'active' } });
    const { lastStatus } = await eventually('it is refused', async () => {
      const { json } = await call(200, `GET /endpoints/${id}`);
      return json.lastError === 'The URL must begin with https://.' && json;
    });
    assert.equal(lastStatus, null);
    assert.equal(before.receiver.requests.length, 1);
  });

  test('are changed by admin keys alone, and each change is audited', async (t) => {
    const { service, call, add } = await startOperatorWebhooks(t);
    const { id } = await add({ status: 'paused' });
    const read = operatorCaller(service, (await makeOperatorKey(service, ['instances:read'])).key);
    const write = operatorCaller(service, (await makeOperatorKey(service, ['instances:write'])).key);
    await read(200, 'GET /endpoints');
    await read(200, `GET /endpoints/${id}`);
    for (const by of [read, write]) {
      await by(403, 'POST /endpoints', { body: { url: 'https://example.com/hook' } });
      await by(403, `PATCH /endpoints/${id}`, { body: {} });
      await by(403, `POST /endpoints/${id}/secret/rotate`);
      await by(403, `POST /endpoints/${id}/test`);
      await by(403, `DELETE /endpoints/${id}`);
    }
    await call(200, `PATCH /endpoints/${id}`, { body: { description: 'x' } });
    await call(200, `POST /endpoints/${id}/secret/rotate`);
    await call(204, `DELETE /endpoints/${id}`);
    const filter = encodeURIComponent(`target = '${id}'`);
    const { json } = await call(200, `GET /audit?filter=${filter}`);
    // What the description of the route says.
    const items = json.items as readonly { readonly action: string; readonly actor: string }[];
    assert.deepEqual(
      items.map((entry) => [entry.action, entry.actor]),
      ['create', 'update', 'rotate', 'delete'].map((action) => [`endpoint.${action}`, 'operator']),
    );
  });

  test('are refused by the names of wrong members, which change nothing, and there are at most 20', async (t) => {
    const { call, add } = await startOperatorWebhooks(t);
    const { id, secret: _, ...made } = await add({ status: 'paused' });
    const refused = async (line: string, body: object, ...names: readonly string[]): Promise<void> => {
      const { json } = await call(400, line, { body });
      assert.deepEqual(Object.keys(json.data), names, JSON.stringify(body));
    };
    const url = 'https://example.com/hook';
    await refused('POST /endpoints', {}, 'url');
    await refused('POST /endpoints', { url: 5, events: [], description: 1 }, 'url', 'description', 'events');
    for (const events of [null, 'instance.*', ['record.create'], ['*', 5], ['instance']])
      await refused('POST /endpoints', { url, events }, 'events');
    for (const from of ['x', 5, '999999', '-1']) await refused('POST /endpoints', { url, from }, 'from');
    await refused('POST /endpoints', { url, secret: 'short' }, 'secret');
    await refused('POST /endpoints', { url, status: 'disabled' }, 'status');
    await refused('POST /endpoints', { url, event: ['*'] }, 'event');
    await refused(`PATCH /endpoints/${id}`, { url: null }, 'url');
    await refused(`PATCH /endpoints/${id}`, { status: null }, 'status');
    await refused(`PATCH /endpoints/${id}`, { secret: 'a secret of their own' }, 'secret');
    await refused(`POST /endpoints/${id}/secret/rotate`, { overlapSeconds: -1 }, 'overlapSeconds');
    const { id: __, ...shown } = (await call(200, `GET /endpoints/${id}`)).json;
    assert.deepEqual(shown, made);
    // An answer may be sent back.
    await call(200, `PATCH /endpoints/${id}`, { body: { id, ...made } });
    for (let count = 1; count < 20; count += 1) await add({ status: 'paused' });
    const { json } = await call(400, 'POST /endpoints', { body: { url } });
    assert.equal(json.message, 'Failed to create endpoint. There can be at most 20 endpoints.');
    assert.equal((await call(200, 'GET /endpoints')).json.items.length, 20);
  });

  test('are sent a ping by a test, and one that is accepted has what waits sent at once', async (t) => {
    const clock = new MovableClock();
    const { receiver, call, add, happen, shown } = await startOperatorWebhooks(t, {
      parts: { clock },
      receiver: { mode: failing },
    });
    const { id, secret } = await add();
    await happen('a');
    await eventually('it failed', async () => (await shown(id)).attempts === 1);
    const refused = (await call(200, `POST /endpoints/${id}/test`)).json;
    assert.deepEqual(
      [refused.isDelivered, refused.status, refused.error],
      [false, 500, 'The receiver answered with status 500.'],
    );
    receiver.mode = ok;
    const tested = (await call(200, `POST /endpoints/${id}/test`)).json;
    assert.deepEqual([tested.isDelivered, tested.status, tested.error], [true, 200, '']);
    const requests = await receiver.waitForRequests(4);
    const [, , ping] = requests;
    assert.ok(ping);
    assert.deepEqual([idsOf([ping]), ping.headers['x-service-event']], [[tested.event], 'ping']);
    assert.deepEqual(verifies(ping, [secret]), [true]);
    const { event, instance_id: instance, data } = JSON.parse(ping.body.toString());
    assert.deepEqual([event, instance, data], ['ping', '', {}]);
    assert.deepEqual(textsOf(requests.slice(3)), ['a']);
    await call(404, 'POST /endpoints/none/test');
  });

  test('are tested eight at a time', async (t) => {
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { service, receiver, add } = await startOperatorWebhooks(t, {
      receiver: { mode: { kind: 'held', until } },
    });
    const { id } = await add({ status: 'paused' });
    const { key } = await makeOperatorKey(service);
    const ask = async (): Promise<number> => {
      const path = `/api/operator/endpoints/${id}/test`;
      const { status } = await service.request(path, { method: 'POST', token: `Bearer ${key}` });
      return status;
    };
    const first = Array.from({ length: 8 }, ask);
    await receiver.waitForRequests(8);
    assert.equal(await ask(), 429);
    release();
    assert.deepEqual(
      await Promise.all(first),
      Array.from({ length: 8 }, () => 200),
    );
    assert.equal(await ask(), 200);
  });

  test('that fail are a metric, unless they are paused', async (t) => {
    const { call, add, happen } = await startOperatorWebhooks(t, { receiver: { mode: failing } });
    const { id } = await add();
    const metric = async (): Promise<string | undefined> => {
      const { text } = await call(200, 'GET /metrics');
      return /^chancery_operator_endpoints_failing (\d)$/m.exec(text)?.[1];
    };
    assert.equal(await metric(), '0');
    await happen('a');
    await eventually('it fails', async () => (await metric()) === '1');
    await call(200, `PATCH /endpoints/${id}`, { body: { status: 'paused' } });
    assert.equal(await metric(), '0');
  });
});
