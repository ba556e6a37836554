// Both engines: requests are kept as rows.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { sql } from '../../src/sql/sql.ts';
import { catcherLimits, keepRequest } from '../../src/endpoints/catchers.ts';
import { startService, type TestService } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';

const catchers = '/api/webhooks/catchers';

interface CatcherJson {
  readonly id: string;
  readonly url: string;
  readonly expires: string;
  readonly requests: readonly CaughtJson[];
}

interface CaughtJson {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bodyBytes: number;
}

test('a catcher keeps the webhooks of an endpoint, signed as any receiver gets them, on a server that allows no local target', async (t) => {
  const service = await start(t);
  const catcher = await makeCatcher(service);
  const endpoint = await makeEndpoint(service, catcher.url);
  const record = await service.request('/api/collections/notes/records', {
    method: 'POST',
    token: true,
    body: { title: 'Hello' },
  });
  const [kept] = await eventually('a webhook', async () => {
    const { requests } = await getCatcher(service, catcher.id);
    return requests.length === 1 ? requests : undefined;
  });
  assert.ok(kept);
  assert.equal(JSON.parse(kept.body).data.id, record.json.id);
  assert.equal(kept.headers['x-service-event'], 'record.create');
  assert.equal(kept.headers['authorization'], '********');
  assert.equal(kept.bodyBytes, Buffer.byteLength(kept.body));
  new Webhook(endpoint.secret).verify(kept.body, { ...kept.headers });
  await eventually('a delivery', async () => {
    const { json } = await service.request(`/api/webhooks/deliveries?filter=status='delivered'`, {
      token: true,
    });
    return json.items.length === 1 || undefined;
  });
});

test('a catcher with a status in its URL plays a receiver that fails, and a test of the endpoint tells it', async (t) => {
  const service = await start(t);
  const { id, url } = await makeCatcher(service);
  const endpoint = await makeEndpoint(service, `${url}?status=503`);
  const answer = await service.request(`/api/webhooks/endpoints/${endpoint.id}/test`, {
    method: 'POST',
    token: true,
  });
  assert.equal(answer.json.attempts[0].status, 503);
  assert.equal((await getCatcher(service, id)).requests.length, 1);
});

test('anybody who has the URL of a catcher may send it what they like, and its answer is the status of the URL', async (t) => {
  const service = await start(t);
  const { id, url } = await makeCatcher(service);
  const send = (body: string | Uint8Array<ArrayBuffer>, type: string, query = ''): Promise<Response> =>
    fetch(`${url}${query}`, { method: 'POST', body, headers: { 'content-type': type } });
  assert.equal((await send('not json', 'application/json')).status, 200);
  assert.equal((await send('a=1', 'application/x-www-form-urlencoded')).status, 200);
  assert.equal(
    (await send(Uint8Array.of(0, 255, 65), 'application/octet-stream', '?status=418')).status,
    418,
  );
  assert.equal((await send('', 'text/plain')).status, 200);
  assert.equal((await send('x'.repeat(catcherLimits.bodyBytesMax + 1), 'text/plain')).status, 200);
  const { requests } = await getCatcher(service, id);
  assert.deepEqual(
    requests.map(({ bodyBytes }) => bodyBytes),
    [catcherLimits.bodyBytesMax + 1, 0, 3, 3, 8],
  );
  assert.equal(requests[0]?.body.length, catcherLimits.bodyBytesMax);
  assert.equal(requests[4]?.body, 'not json');
});

test('a catcher keeps its newest requests, forgets them when it is told to, and is unknown to another instance', async (t) => {
  const service = await start(t);
  const { id, expires } = await makeCatcher(service);
  await service.withInstance('default', async (instance) => {
    for (let number = 0; number < catcherLimits.requestsMax + 3; number += 1) {
      const request = { method: 'POST', headers: {}, body: Buffer.from(String(number)) };
      await keepRequest(instance, { id, expires: Date.parse(expires) }, request);
    }
    const { names } = instance.database;
    const table = names.table('$catcher_request');
    const rows = await instance.database.tuples(
      sql`SELECT 1 FROM ${table} WHERE ${names.instance.condition}`,
    );
    assert.equal(rows.length, catcherLimits.requestsMax);
  });
  const { requests } = await getCatcher(service, id);
  assert.equal(requests.length, catcherLimits.requestsMax);
  assert.equal(requests[0]?.body, String(catcherLimits.requestsMax + 2));
  const deleted = await service.request(`${catchers}/${id}`, { method: 'DELETE', token: true });
  assert.equal(deleted.status, 204);
  assert.equal((await getCatcher(service, id)).requests.length, 0);
  const foreign = `v1.${'A'.repeat(16)}.${'A'.repeat(40)}`;
  for (const unknown of [foreign, 'x']) {
    assert.equal((await service.request(`${catchers}/${unknown}`, { token: true })).status, 404);
    const sent = await service.request(`${catchers}/${unknown}/requests`, { method: 'POST', body: {} });
    assert.equal(sent.status, 404);
  }
});

test('a catcher that has expired is unknown, and what an endpoint sends there fails with 404 and the reason', async (t) => {
  const service = await start(t);
  const { url, id } = await makeCatcher(service);
  const past = await service.withInstance('default', ({ sealer, dueClock }) =>
    Promise.resolve(sealer.seal(String(dueClock.now()), { purpose: 'catcher', id: '' })),
  );
  assert.equal((await service.request(`${catchers}/${past}`, { token: true })).status, 404);
  const sent = await service.request(`${catchers}/${past}/requests`, { method: 'POST', body: {} });
  assert.equal(sent.status, 404);
  const endpoint = await makeEndpoint(service, url.replace(id, past));
  const path = `/api/webhooks/endpoints/${endpoint.id}/test`;
  const [attempt] = (await service.request(path, { method: 'POST', token: true })).json.attempts;
  assert.deepEqual([attempt.status, attempt.cause], [404, 'The catcher has expired: they last for an hour.']);
});

test('a URL that only looks like a catcher is checked as any target is', async (t) => {
  const service = await start(t);
  const { url, id } = await makeCatcher(service);
  const foreign = `http://127.0.0.1:9${catchers}/v1.${'A'.repeat(16)}.${'A'.repeat(40)}/requests`;
  const wrong = [
    foreign,
    `${url}#a`,
    `${url}?status=999`,
    `${url}/more`,
    url.replace('http:', 'ftp:'),
    url.replace('//', '//a:b@'),
  ];
  for (const target of wrong) {
    const answer = await service.request('/api/webhooks/endpoints', {
      method: 'POST',
      token: true,
      body: { url: target },
    });
    assert.equal(answer.status, 400, target);
  }
  assert.equal(
    (await makeEndpoint(service, `https://elsewhere.example${catchers}/${id}/requests`)).url.includes(
      'elsewhere',
    ),
    true,
  );
});

async function start(t: TestContext): Promise<TestService> {
  const service = await startService(t, { flags: { dev: 'false' } });
  await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'notes', type: 'base', fields: [{ name: 'title', type: 'text' }] },
  });
  return service;
}

async function makeCatcher(service: TestService): Promise<CatcherJson> {
  const { status, json } = await service.request(catchers, { method: 'POST', token: true });
  assert.equal(status, 201);
  return json;
}

async function getCatcher(service: TestService, id: string): Promise<CatcherJson> {
  const { status, json } = await service.request(`${catchers}/${id}`, { token: true });
  assert.equal(status, 200);
  return json;
}

async function makeEndpoint(
  service: TestService,
  url: string,
): Promise<{ readonly id: string; readonly url: string; readonly secret: string }> {
  const body = { url, headers: { authorization: 'Bearer of-the-receiver' } };
  const { status, json } = await service.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body,
  });
  assert.equal(status, 201);
  return json;
}
