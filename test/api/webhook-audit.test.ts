// Both engines: entries are rows of the transaction that they tell of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import { startService, type TestAnswer } from '../support/service.ts';

test('what is sent again, sent no more or replayed by hand is in the log, with who has asked for it', async (t) => {
  const service = await startService(t);
  const send = (what: string, body?: object): Promise<TestAnswer> => {
    const [method = '', path = ''] = what.split(' ');
    return service.request(path, { method, token: true, ...(body && { body }) });
  };
  await send('POST /api/collections', { name: 'posts', fields: [{ name: 'title', type: 'text' }] });
  const url = 'https://hooks.example.com';
  const made = await send('POST /api/webhooks/endpoints', { url, status: 'paused' });
  const { id: endpoint } = made.json;
  await send('POST /api/collections/posts/records', { title: 'canary' });
  const [delivery] = (await send('GET /api/webhooks/deliveries')).json.items;
  const { key, id: keyId } = await makeKey(service, ['webhooks:write']);
  const path = `/api/webhooks/deliveries/${delivery.id}`;
  assert.equal((await send(`POST ${path}/cancel`)).status, 200);
  assert.equal((await send(`POST ${path}/cancel`)).status, 409, 'which is not logged');
  assert.equal((await service.request(`${path}/retry`, { method: 'POST', token: key })).status, 200);
  const at = `/api/webhooks/endpoints/${endpoint}`;
  assert.equal((await send(`POST ${at}/replay`, { scope: 'all', dryRun: true })).status, 200);
  const replay = (await send(`POST ${at}/replay`, { scope: 'all', filter: "title = 'canary'" })).json;
  await send(`DELETE /api/webhooks/replays/${replay.id}`);
  const backfill = (await send(`POST ${at}/backfill`, { collection: 'posts' })).json;
  const filter =
    "action ~ 'delivery.' || action ~ 'replay' || action ~ 'backfill' || action = 'endpoint.update'";
  const found = await send(`GET /api/audit?${new URLSearchParams({ filter }).toString()}`);
  const entries: readonly Readonly<Record<string, unknown>>[] = found.json.items;
  assert.deepEqual(
    entries.map(({ action, target, details }) => [action, target, details]),
    [
      ['delivery.cancel', delivery.id, {}],
      ['delivery.retry', delivery.id, {}],
      // What waits is sent anyway.
      ['endpoint.replay', endpoint, { replay: replay.id, scope: 'all', total: 0 }],
      ['replay.cancel', replay.id, { endpoint }],
      ['endpoint.backfill', endpoint, { replay: backfill.id, collection: 'posts', total: 1 }],
    ],
  );
  assert.deepEqual([entries[1]?.['actor'], entries[1]?.['actorId']], ['key', keyId]);
});
