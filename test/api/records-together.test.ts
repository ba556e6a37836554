// Both engines: writes share transactions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf } from '../support/events-of.ts';
import { eventually } from '../support/eventually.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const count = 40;

test('of records that are made at the same time each has its own event, and a refused one has none', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.call('GET', '/api/collections/posts');
  const indexes = ['CREATE UNIQUE INDEX idx_title ON posts (title)'];
  await service.call('PATCH', `/api/collections/${id}`, { body: { indexes } });
  const endpoints = [await service.addEndpoint(), await service.addEndpoint()];
  const titles = Array.from({ length: count }, (_, n) => n);
  const good = titles.map((n) => ({ title: `good ${n}`, rank: n }));
  // Every fifth has the title of another, and every seventh a rank out of its range.
  const mixed = titles.map((n) => ({
    title: `title ${n % 5 === 4 ? n - 1 : n}`,
    rank: n % 7 === 6 ? 5_000 : n,
  }));
  const kept = new Map<string, string>();
  const refused: string[] = [];
  const make = async (body: { readonly title: string }): Promise<void> => {
    const response = await fetch(`${service.url}/api/collections/posts/records`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: service.superuser.token },
      body: JSON.stringify(body),
    });
    // What http-api.md says of a created record and of an error.
    const answer = (await response.json()) as { readonly id: string; readonly data: object };
    if (response.status === 201) kept.set(answer.id, body.title);
    else refused.push(`${response.status} ${Object.keys(answer.data).join()}`);
  };
  await Promise.all(good.map(make));
  assert.deepEqual([kept.size, refused], [count, []]);
  await Promise.all(mixed.map(make));
  assert.ok(refused.every((answer) => answer === '400 title' || answer === '400 rank'));
  assert.equal(kept.size, new Set(kept.values()).size);
  const expected = kept.size * endpoints.length;
  const requests = await service.receiver.waitForRequests(expected);
  await eventually(
    'all settled',
    async () => (await service.deliveries("status='delivered'")).length === expected,
  );
  assert.equal(requests.length, expected);
  const told = requests.map(({ body, headers }) => {
    // webhooks.md section 1: the record's fields are in `data`.
    const { data } = JSON.parse(String(body)) as { readonly data: { readonly id: string; title: string } };
    assert.equal(data.title, kept.get(data.id));
    // The delivery leads to its own event, and to no neighbour's.
    const [event, endpoint] = String(headers['x-service-delivery']).split('-');
    assert.equal(event, headers['webhook-id']);
    return `${data.id} to ${endpoint}`;
  });
  const each = [...kept.keys()].flatMap((record) =>
    endpoints.map(({ id: endpoint }) => `${record} to ${endpoint}`),
  );
  assert.deepEqual(told.toSorted(), each.toSorted());
});

test('of changes of the same records at the same time none is lost, and each has its own event in its place', async (t) => {
  const service = await startWebhookService(t);
  await Promise.all([service.addEndpoint(), service.addEndpoint()]);
  const posts = await Promise.all(Array.from({ length: 5 }, (_, n) => service.addPost(`post ${n}`)));
  const ids = posts.map(({ id }) => String(id));
  const times = 8;
  const change = async (id: string): Promise<void> => {
    const path = `/api/collections/posts/records/${id}`;
    await service.call('PATCH', path, { body: { 'rank+': 1 } });
  };
  await Promise.all(Array.from({ length: times }, () => ids.map(change)).flat());
  for (const id of ids) {
    const { rank } = await service.call('GET', `/api/collections/posts/records/${id}`);
    assert.equal(rank, times);
    const told = (await eventsOf(service, id)).map(({ revision, data }) => [revision, data['rank']]);
    assert.deepEqual(
      told,
      Array.from({ length: times + 1 }, (_, n) => [n + 1, n]),
    );
  }
});

test('records are made and changed in shared transactions, and not under an Idempotency-Key, which is a row of its own', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const service = await startWebhookService(t, { parts: { wrapDatabase } });
  // Of all writes: others may come between ours.
  const shared = (): number =>
    (databases[0]?.options ?? []).filter(
      (options) => options.isAppending === true || options.changes !== undefined,
    ).length;
  const before = shared();
  const { id } = await service.addPost();
  const path = `/api/collections/posts/records`;
  assert.equal(shared(), before + 1);
  await service.call('PATCH', `${path}/${String(id)}`, { body: { title: 'y' } });
  assert.equal(shared(), before + 2);
  for (const [method, at] of [
    ['POST', path],
    ['PATCH', `${path}/${String(id)}`],
  ] as const) {
    const answer = await fetch(service.url + at, {
      method,
      headers: {
        'content-type': 'application/json',
        'idempotency-key': `the first ${method}`,
        authorization: service.superuser.token,
      },
      body: '{"title":"x"}',
    });
    assert.ok(answer.ok);
  }
  assert.equal(shared(), before + 2);
});
