import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { listOf } from '../support/webhook-service.ts';
import { addInstance, idOf, poolOf, posts, startHosts } from './host-stage.ts';

const webhooks = '/api/webhooks';
const links = `${webhooks}/portal-links`;

test('a portal stays open while its instance is moved between threads, and opens nothing of a neighbour', async (t) => {
  const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
  t.after(() => receiver.close());
  const stage = await startHosts(t, { threads: 2 });
  await addInstance(stage, 'shop');
  // A single attempt, so that the delivery fails for good at once.
  const body = { url: receiver.url, collections: ['posts'], schedule: [] };
  const endpoint = await stage.request(`${webhooks}/endpoints`, { method: 'POST', token: true, body });
  assert.equal(endpoint.status, 201, endpoint.text);
  const open = async () => {
    const made = await stage.request(links, {
      method: 'POST',
      token: true,
      body: { endpoints: [endpoint.json.id] },
    });
    const secret = { token: new URL(String(made.json.url)).hash.slice(1) };
    assert.equal((await stage.request(`/i/shop${links}/use`, { method: 'POST', body: secret })).status, 403);
    const used = await stage.request(`${links}/use`, { method: 'POST', body: secret });
    assert.equal(used.status, 200, used.text);
    assert.equal((await stage.request(`${links}/use`, { method: 'POST', body: secret })).status, 403);
    return { id: String(made.json.id), token: String(used.json.token) };
  };
  const statuses = async (token: string): Promise<readonly number[]> => {
    const own = await stage.request(`${webhooks}/endpoints`, { token });
    const other = await stage.request(`/i/shop${webhooks}/endpoints`, { token });
    return [own.status, other.status];
  };
  const move = (thread: number): Promise<unknown> => poolOf(stage).move(idOf(stage, 'default'), thread);

  await move(0);
  const { token } = await open();
  assert.deepEqual(await statuses(token), [200, 401]);
  assert.equal((await stage.request(posts, { method: 'POST', body: { title: 'a' } })).status, 201);
  const { id } = await eventually('the delivery has failed', async () => {
    const { json } = await stage.request(`${webhooks}/deliveries`, { token });
    return listOf(json.items).find(({ status }) => status === 'exhausted');
  });
  await move(1);
  receiver.mode = { kind: 'ok' };
  const retried = await stage.request(`${webhooks}/deliveries/${id}/retry`, { method: 'POST', token });
  assert.equal(retried.status, 200, retried.text);
  await eventually('it is delivered', async () => {
    const { json } = await stage.request(`${webhooks}/deliveries/${id}`, { token });
    return json.status === 'delivered';
  });

  // A session that has ended is over wherever the instance goes, by the customer's sign-out and by the owner's word.
  assert.equal((await stage.request(`${links}/current`, { method: 'DELETE', token })).status, 204);
  const second = await open();
  await move(0);
  assert.deepEqual(await statuses(token), [401, 401]);
  assert.deepEqual(await statuses(second.token), [200, 401]);
  await stage.request(`${links}/${second.id}`, { method: 'DELETE', token: true });
  await move(1);
  assert.deepEqual(await statuses(second.token), [401, 401]);
});
