import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { json, tokenClient, TokenServer } from '../support/token-server.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const masked = '********';

/** A receiver that lets in only requests with one of these tokens. */
async function openGuarded(tokens: ReadonlySet<string>): Promise<Receiver> {
  const receiver = await Receiver.open({
    onRequest: ({ headers }) => {
      const isKnown = tokens.has(headers.authorization ?? '');
      receiver.mode = { kind: 'status', status: isKnown ? 204 : 401 };
    },
  });
  return receiver;
}

interface Change {
  readonly oauth2: Json;
  readonly status?: number;
}

function change(service: WebhookService, id: string, { oauth2, status = 200 }: Change): Promise<Json> {
  return service.call('PATCH', `/api/webhooks/endpoints/${id}`, { body: { oauth2 }, status });
}

test('an endpoint is sent a token, fetched once for all that is sent to it, and nobody is shown it or the secret', async (t) => {
  await using tokens = await TokenServer.open();
  const service = await startWebhookService(t);
  const oauth2 = { ...tokens.credentials, scope: 'hooks', audience: 'https://api.example.com' };
  const endpoint = await service.addEndpoint({ oauth2 });
  assert.deepEqual(endpoint.oauth2, { ...oauth2, clientSecret: masked });
  service.receiver.mode = { kind: 'echo', status: 200 };
  await Promise.all(Array.from({ length: 8 }, (_, number) => service.addPost(String(number))));
  const requests = await service.receiver.waitForRequests(8);
  assert.deepEqual([...new Set(requests.map(({ headers }) => headers.authorization))], ['Bearer token-0001']);
  assert.equal(tokens.requests.length, 1);
  const ids = await eventually('all are delivered', async () => {
    const items = await service.deliveries("status = 'delivered'");
    return items.length === 8 ? items.map(({ id }) => id) : undefined;
  });
  const shown: string[] = [];
  for (const path of [`endpoints/${endpoint.id}`, 'endpoints', ...ids.map((id) => `deliveries/${id}`)])
    shown.push(JSON.stringify(await service.call('GET', `/api/webhooks/${path}`)));
  const told = shown.join('\n') + JSON.stringify(service.log);
  assert.ok(told.includes(masked));
  assert.doesNotMatch(told, /token-0001/);
  assert.equal(told.includes(tokenClient.clientSecret), false);
});

test('a secret that is sent back masked stays, but goes to no other server', async (t) => {
  await using tokens = await TokenServer.open();
  await using elsewhere = await TokenServer.open();
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint({ oauth2: tokens.credentials });
  const kept = { ...tokens.credentials, clientSecret: masked };
  await change(service, id, { oauth2: { ...kept, scope: 'more' } });
  await service.addPost();
  await service.receiver.waitForRequests(1);
  assert.match(String(tokens.requests[0]?.body), /scope=more/);
  const moved = await change(service, id, { oauth2: { ...kept, tokenUrl: elsewhere.url }, status: 400 });
  assert.match(moved.data.oauth2.clientSecret.message, /set again/);
  const fresh = await service.call('POST', '/api/webhooks/endpoints', {
    body: { url: service.receiver.url, oauth2: kept },
    status: 400,
  });
  assert.match(fresh.data.oauth2.clientSecret.message, /set again/);
  await change(service, id, { oauth2: elsewhere.credentials });
  await service.addPost();
  await service.receiver.waitForRequests(2);
  assert.equal(elsewhere.requests.length, 1);
  assert.equal((await change(service, id, { oauth2: null })).oauth2, null);
  await service.addPost();
  const [, , last] = await service.receiver.waitForRequests(3);
  assert.equal(last?.headers.authorization, undefined);
});

test('a receiver that answers 401 gets one more request with another token, and the log has one attempt', async (t) => {
  await using tokens = await TokenServer.open();
  const known = new Set(['Bearer token-0001']);
  await using receiver = await openGuarded(known);
  const service = await startWebhookService(t);
  const endpoint = await service.addEndpoint({ url: receiver.url, oauth2: tokens.credentials });
  await service.addPost();
  await eventually(
    'it is delivered',
    async () => (await service.deliveries("status = 'delivered'")).length === 1,
  );
  known.delete('Bearer token-0001');
  known.add('Bearer token-0002');
  const renewed = await service.call('POST', `/api/webhooks/endpoints/${endpoint.id}/test`, { body: {} });
  assert.deepEqual(
    [renewed.status, renewed.attempts.length, renewed.attempts[0].status],
    ['delivered', 1, 204],
  );
  assert.deepEqual([receiver.requests.length, tokens.requests.length], [3, 2]);
  known.clear();
  const refused = await service.call('POST', `/api/webhooks/endpoints/${endpoint.id}/test`, { body: {} });
  assert.deepEqual([refused.attempts.length, refused.attempts[0].status], [1, 401]);
  assert.deepEqual([receiver.requests.length, tokens.requests.length], [5, 3]);
});

test('a token that has expired is fetched again', async (t) => {
  await using tokens = await TokenServer.open();
  const service = await startWebhookService(t);
  tokens.members = { expires_in: 1 };
  const endpoint = await service.addEndpoint({ oauth2: tokens.credentials });
  await eventually('another token', async () => {
    const path = `/api/webhooks/endpoints/${endpoint.id}/test`;
    const { status } = await service.call('POST', path, { body: {} });
    assert.equal(status, 'delivered');
    return tokens.requests.length === 2;
  });
});

test('a token that cannot be had is a failed attempt with its cause, and five in a row open the lane', async (t) => {
  await using tokens = await TokenServer.open();
  const service = await startWebhookService(t);
  tokens.mode = json(401, { error: 'invalid_client', error_description: 'Unknown client.' });
  const { id } = await service.addEndpoint({ oauth2: tokens.credentials, maxInFlight: 1 });
  for (let number = 0; number < 6; number += 1) await service.addPost(String(number));
  const lane = await eventually('the lane opens', async () => {
    const { items } = await service.call('GET', '/api/webhooks/lanes');
    return listOf(items).find((one) => one.id === id && one.state === 'open');
  });
  const cause =
    'The token request failed: the server answered with status 401. It said: invalid_client: Unknown client.';
  assert.equal(lane.cause, cause);
  const failed = await eventually('an attempt', async () =>
    (await service.deliveries()).find((one) => one.cause !== ''),
  );
  assert.equal(failed.cause, cause);
  assert.equal(service.receiver.requests.length, 0);
});

const wrong: readonly (readonly [name: string, oauth2: Json, member: string, message: RegExp])[] = [
  ['no URL', { tokenUrl: undefined }, 'tokenUrl', /^Cannot be blank/],
  ['a URL of another scheme', { tokenUrl: 'ftp://example.com/' }, 'tokenUrl', /must begin with https/],
  ['a URL in the network of the service', { tokenUrl: 'https://10.0.0.1/' }, 'tokenUrl', /not allowed/],
  ['a port of another protocol', { tokenUrl: 'https://example.com:6379/' }, 'tokenUrl', /^Port 6379/],
  ['no identifier', { clientId: '' }, 'clientId', /^Cannot be blank/],
  ['an identifier that is no text', { clientId: 7 }, 'clientId', /printable text, of at most 1024/],
  ['a secret with a line break', { clientSecret: 'a\nb' }, 'clientSecret', /printable text/],
  ['a secret that is too long', { clientSecret: 'x'.repeat(4_097) }, 'clientSecret', /at most 4096/],
  ['a scope with two blanks', { scope: 'a  b' }, 'scope', /names of scopes/],
  ['an audience that is too long', { audience: 'x'.repeat(2_049) }, 'audience', /at most 2048/],
  ['a slip in a name', { scopes: 'a' }, 'scopes', /Did you mean scope\?/],
];

test('what is wrong with credentials is said by member', async (t) => {
  const service = await startWebhookService(t);
  const right = { tokenUrl: 'https://example.com/token', ...tokenClient };
  const send = (settings: Json): Promise<Json> =>
    service.call('POST', '/api/webhooks/endpoints', {
      body: { url: service.receiver.url, ...settings },
      status: 400,
    });
  for (const [name, part, member, message] of wrong) {
    const { data } = await send({ oauth2: { ...right, ...part } });
    assert.deepEqual(Object.keys(data.oauth2), [member], name);
    assert.match(data.oauth2[member].message, message, name);
  }
  assert.match((await send({ oauth2: 'none' })).data.oauth2.message, /^Must be null or an object/);
  const both = await send({ oauth2: right, headers: { Authorization: 'Basic abc' } });
  assert.match(both.data.oauth2.message, /header authorization/);
});
