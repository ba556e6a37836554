import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const records = '/api/collections/posts/records';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

async function tracesOf(service: WebhookService, count: number): Promise<readonly (readonly string[])[]> {
  const requests = await service.receiver.waitForRequests(count);
  return requests.map(({ headers }) => [String(headers['traceparent']), String(headers['tracestate'])]);
}

test('a webhook goes on with the trace of the request that made the change, each attempt with a span of its own', async (t) => {
  const service = await startWebhookService(t, { mode: { kind: 'status', status: 404 } });
  await service.addEndpoint({ schedule: [1] });
  const headers = { traceparent, tracestate: 'congo=t61rcWkgMzE, rojo=00f067aa0ba902b7' };
  const made = await service.request(records, { method: 'POST', body: { title: 'a' }, token: true, headers });
  assert.equal(made.status, 201);
  const traces = await tracesOf(service, 2);
  for (const [parent = '', state] of traces) {
    assert.match(parent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    assert.equal(state, 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7');
  }
  assert.equal(new Set([traceparent, ...traces.map(([parent]) => parent)]).size, 3);
});

test('events of a batch share its trace, and requests without a valid one have each their own', async (t) => {
  const service = await startWebhookService(t);
  await service.call('PATCH', '/api/settings', { body: { batch: { enabled: true } } });
  await service.addEndpoint();
  const requests = ['a', 'b'].map((title) => ({ method: 'POST', url: records, body: { title } }));
  const batch = { method: 'POST', body: { requests }, token: true, headers: { traceparent } } as const;
  assert.equal((await service.request('/api/batch', batch)).status, 200);
  for (const invalid of ['', 'none', traceparent.replace('00-', 'ff-')])
    await service.request(records, {
      method: 'POST',
      body: {},
      token: true,
      headers: { traceparent: invalid, tracestate: 'a=1' },
    });
  await service.addPost();
  const traces = await tracesOf(service, 6);
  const ids = traces.map(([parent = '']) => parent.slice(3, 35));
  assert.equal(ids.filter((id) => id === traceId).length, 2);
  assert.equal(new Set(ids).size, 5);
  assert.ok(traces.every(([, state]) => state === 'undefined'));
});

test('a delete and a test of an endpoint are in the trace of their request, and a later retry is in that of the change', async (t) => {
  const service = await startWebhookService(t);
  const { id: endpoint } = await service.addEndpoint();
  const post = await service.addPost();
  await service.receiver.waitForRequests(1);
  const headers = { traceparent };
  await service.request(`${records}/${post.id}`, { method: 'DELETE', token: true, headers });
  await service.receiver.waitForRequests(2);
  const test = await service.request(`/api/webhooks/endpoints/${endpoint}/test`, {
    method: 'POST',
    token: true,
    headers,
  });
  assert.equal(test.status, 200);
  const [removed] = (await service.deliveries("kind = 'record.delete'")) ?? [];
  await eventually('it is over', async () => {
    const retried = await service.request(`/api/webhooks/deliveries/${removed.id}/retry`, {
      method: 'POST',
      token: true,
    });
    return retried.status === 200;
  });
  const traces = await tracesOf(service, 4);
  for (const [parent = ''] of traces.slice(1)) assert.match(parent, new RegExp(`^00-${traceId}-`));
});

test('an endpoint has no header that names a trace', async (t) => {
  const service = await startWebhookService(t);
  for (const name of ['traceparent', 'TraceState']) {
    const body = { url: service.receiver.url, headers: { [name]: 'a=1' } };
    await service.call('POST', '/api/webhooks/endpoints', { body, status: 400 });
  }
});
