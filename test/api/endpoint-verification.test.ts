// Both engines: who asks a receiver is decided by a lease in the database, and counted over all nodes on PostgreSQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verify } from '../../kit/src/verify.ts';
import { challengeLimits } from '../../src/dispatch/verifications.ts';
import { refusedTarget } from '../../src/sending/endpoint-request.ts';
import { sql } from '../../src/sql/sql.ts';
import { add, type AccountStage, endpoints, openAccountStage } from '../support/account-stage.ts';
import type { Account } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import type { ReceivedRequest, ReceiverMode } from '../support/receiver.ts';
import { type Json, startWebhookService } from '../support/webhook-service.ts';

const open = (t: Parameters<typeof openAccountStage>[0], mode: ReceiverMode = ok): Promise<AccountStage> =>
  openAccountStage(t, { verifies: true, mode });

const ok: ReceiverMode = { kind: 'ok' };
const isChallenge = ({ headers }: ReceivedRequest): boolean =>
  headers['x-service-event'] === 'endpoint.verify';
const challengeOf = ({ body }: ReceivedRequest): string => String(JSON.parse(body.toString()).data.challenge);

/** Answers challenges as `answer` says, and everything else with 200. */
function answering(
  answer: (challenge: string, request: ReceivedRequest) => string | Uint8Array,
): ReceiverMode {
  return {
    kind: 'by request',
    modeOf: (request) =>
      isChallenge(request)
        ? { kind: 'status', status: 200, body: answer(challengeOf(request), request) }
        : ok,
  };
}

const confirming = answering((challenge) => challenge);

const endpointOf = async ({ service }: AccountStage, id: string): Promise<Json> =>
  service.call('GET', `${endpoints}/${id}`);

/** Waits until the receiver of an endpoint was asked and the outcome is stored. */
const outcomeOf = (stage: AccountStage, id: string): Promise<Json> =>
  eventually('the outcome', async () => {
    const endpoint = await endpointOf(stage, id);
    return endpoint.statusReason === 'Its receiver has not confirmed a challenge yet.' ? undefined : endpoint;
  });

/** Titles of the records that a path was sent. */
const titlesAt = ({ service }: AccountStage, path: string): readonly string[] =>
  service.receiver.requests.flatMap((request) =>
    request.path === path && request.method === 'POST' && !isChallenge(request)
      ? [String(JSON.parse(request.body.toString()).data.title)]
      : [],
  );

type Ask = (method: string, path: string, body?: object) => Promise<Json>;

/** Makes requests as an account. */
const asAccount =
  ({ service }: AccountStage, { token }: Account): Ask =>
  (method, path, body) =>
    service.request(path, { method, token, ...(body && { body }) });

test('an account is sent nothing before its receiver has confirmed a signed challenge, and then all that waits', async (t) => {
  const stage = await open(t);
  const { service, account, own } = stage;
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const made = await own(ann, { fields: ['title'], timeoutMs: 2_000 });
  assert.deepEqual([made.status, made.verified], ['unverified', '']);
  const { status, statusReason, verified } = await outcomeOf(stage, made.id);
  assert.deepEqual(
    [status, statusReason, verified],
    ['unverified', 'Its receiver is not verified: The answer to the challenge does not confirm it.', ''],
  );
  await add(stage, 'first');
  const [challenge, preflight, ...more] = service.receiver.requests;
  assert.ok(challenge && preflight);
  assert.deepEqual(more, []);
  const webhook = await verify(made.secret, challenge.headers, challenge.body);
  assert.equal(webhook.event.event, 'endpoint.verify');
  assert.deepEqual([webhook.event.collection, Object.keys(webhook.event.data)], ['', ['challenge']]);
  assert.match(challengeOf(challenge), /^[\w-]{43}$/);
  assert.deepEqual(
    [preflight.method, preflight.headers['webhook-request-origin'], preflight.body.length],
    ['OPTIONS', 'localhost', 0],
  );
  // Only then.
  service.receiver.mode = confirming;
  const asked = await ask('POST', `${endpoints}/${made.id}/verify`);
  assert.deepEqual(
    [asked.status, asked.json.status, asked.json.statusReason],
    [200, 'active', ''],
    asked.text,
  );
  assert.match(asked.json.verified, /^2\d{3}-/);
  await eventually('what waited', () => titlesAt(stage, '/hook').includes('first'));
  const count = service.receiver.requests.filter(isChallenge).length;
  // Confirmed once, it is not asked again.
  assert.equal((await ask('POST', `${endpoints}/${made.id}/verify`)).json.status, 'active');
  assert.equal(service.receiver.requests.filter(isChallenge).length, count);
});

test('an account cannot have an unverified receiver sent anything by another way', async (t) => {
  const stage = await open(
    t,
    answering(() => 'no'),
  );
  const { service, account, own } = stage;
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const { id } = await own(ann, { timeoutMs: 2_000 });
  const path = `${endpoints}/${id}`;
  const act = async (action: string, body?: object): Promise<readonly unknown[]> => {
    const answer = await ask('POST', `${path}/${action}`, body);
    return [answer.status, answer.json.status];
  };
  await add(stage, 'one');
  assert.equal((await act('test'))[0], 409);
  await act('replay', { scope: 'all' });
  assert.deepEqual(await act('pause'), [200, 'paused']);
  assert.equal((await act('test'))[0], 409, 'a paused one neither');
  for (const backlog of ['newest-first', 'drain'])
    assert.deepEqual(await act('resume', { backlog }), [200, 'unverified'], backlog);
  assert.equal((await ask('PATCH', path, { status: 'active' })).status, 400);
  await outcomeOf(stage, id);
  const { items } = await service.call('GET', '/api/webhooks/deliveries');
  for (const delivery of items) await ask('POST', `/api/webhooks/deliveries/${delivery.id}/retry`);
  service.look();
  await outcomeOf(stage, id);
  const others = service.receiver.requests.filter((one) => !isChallenge(one) && one.method !== 'OPTIONS');
  assert.deepEqual(others, []);
});

test('another URL is asked for itself, and nothing is sent there before', async (t) => {
  const stage = await open(t, confirming);
  const { service, account, own } = stage;
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const { id } = await own(ann);
  assert.equal((await outcomeOf(stage, id)).status, 'active');
  service.receiver.mode = answering(() => 'no');
  const path = `${endpoints}/${id}`;
  const other = service.receiver.urlAt('127.0.0.1', '/other');
  const renamed = await ask('PATCH', path, { description: 'mine' });
  assert.equal(renamed.json.status, 'active', 'other members need no confirmation');
  const moved = await ask('PATCH', path, { url: other });
  assert.deepEqual([moved.json.status, moved.json.verified], ['unverified', '']);
  assert.equal((await outcomeOf(stage, id)).status, 'unverified');
  await add(stage, 'a');
  service.look();
  service.receiver.mode = confirming;
  assert.equal((await ask('POST', `${path}/verify`)).json.status, 'active');
  await eventually('what waited', () => titlesAt(stage, '/other').includes('a'));
  const before = service.receiver.requests.findIndex((one) => one.path === '/other');
  assert.ok(isChallenge(service.receiver.requests[before] ?? assert.fail()));
});

test('only an answer that is the challenge confirms it, or the consent that CloudEvents name', async (t) => {
  const stage = await open(
    t,
    answering(() => 'no'),
  );
  const { service, account, own } = stage;
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const { id } = await own(ann, { timeoutMs: 1_000 });
  await outcomeOf(stage, id);
  const answerTo = async (mode: ReceiverMode): Promise<Json> => {
    service.receiver.mode = mode;
    const answer = await ask('POST', `${endpoints}/${id}/verify`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const preflight = (headers: Readonly<Record<string, string>>, status = 200): ReceiverMode => ({
    kind: 'by request',
    modeOf: ({ method }) =>
      method === 'OPTIONS' ? { kind: 'status', status, headers } : { kind: 'status', status: 405 },
  });
  const refused: Readonly<Record<string, ReceiverMode>> = {
    'a server that echoes requests': answering((_challenge, { body }) => body),
    'a page that has it': answering((challenge) => `<p>${challenge}</p>`),
    'a longer text': answering((challenge) => `${challenge}${challenge}`),
    'one that is cut': answering((challenge) => challenge.slice(1)),
    'a huge answer that begins with it': answering((challenge) => challenge.padEnd(64 * 1_024, '\n ')),
    'an endless answer': { kind: 'endless body' },
    'an error with it': {
      kind: 'by request',
      modeOf: (request) => ({
        kind: 'status',
        status: 400,
        body: isChallenge(request) ? challengeOf(request) : '',
      }),
    },
    'a late answer': { kind: 'never answers' },
    'a redirect': { kind: 'redirect', location: service.receiver.urlAt('127.0.0.1', '/elsewhere') },
    'consent for another origin': preflight({ 'webhook-allowed-origin': 'example.com' }),
    'consent with an error': preflight({ 'webhook-allowed-origin': '*' }, 403),
  };
  for (const [name, mode] of Object.entries(refused))
    assert.equal((await answerTo(mode)).status, 'unverified', name);
  assert.equal(
    service.receiver.requests.some(({ path }) => path === '/elsewhere'),
    false,
  );
  assert.equal(
    (await answerTo(preflight({ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '150' }))).rateLimit,
    2,
  );
  const byMember = await own(ann, { timeoutMs: 1_000, url: service.receiver.urlAt('127.0.0.1', '/json') });
  service.receiver.mode = answering((challenge) => JSON.stringify({ challenge }));
  await ask('POST', `${endpoints}/${byMember.id}/verify`);
  await eventually('the member', async () => (await endpointOf(stage, byMember.id)).status === 'active');
});

test('accounts cannot have a receiver flooded with challenges', async (t) => {
  const release = Promise.withResolvers<void>();
  const stage = await open(t, { kind: 'held', until: release.promise, status: 404 });
  const { service, account, own } = stage;
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const { id } = await own(ann, { timeoutMs: 30_000 });
  await service.receiver.waitForRequests(1);
  const verifyOnce = (): Promise<Json> => ask('POST', `${endpoints}/${id}/verify`);
  // One at a time, however often it is asked for.
  const same = await Promise.all([verifyOnce(), verifyOnce(), verifyOnce()]);
  assert.deepEqual(new Set(same.map(({ status }) => status)), new Set([409]));
  assert.equal(service.receiver.openRequestsMost, 1);
  release.resolve();
  await outcomeOf(stage, id);
  let sent = 0;
  const limited = await eventually('the limit', async () => {
    const answer = await verifyOnce();
    sent += 1;
    return answer.status === 200 ? undefined : answer;
  });
  assert.equal(limited.status, 429);
  assert.equal(sent, challengeLimits.endpointMax);
  // Neither another endpoint nor another URL is a way around the limit of the account.
  for (let made = 0; made < 40; made += 1) {
    const url = service.receiver.urlAt('127.0.0.1', `/${made}`);
    const more = await own(ann, { url });
    await ask('POST', `${endpoints}/${more.id}/verify`);
    await ask('DELETE', `${endpoints}/${more.id}`);
  }
  const challenges = service.receiver.requests.filter(isChallenge).length;
  assert.equal(challenges, challengeLimits.accountMax);
  assert.ok(service.receiver.requests.length <= 2 * challengeLimits.accountMax);
  // Another account has its own share.
  service.receiver.mode = confirming;
  const bob = await own(await account('bob'));
  assert.equal((await outcomeOf(stage, bob.id)).status, 'active');
});

test('a receiver whose URL comes while another one is asked is asked after it', async (t) => {
  const release = Promise.withResolvers<void>();
  const stage = await open(t, {
    kind: 'by request',
    modeOf: (request) =>
      request.path === '/moved'
        ? { kind: 'status', status: 200, body: challengeOf(request) }
        : { kind: 'held', until: release.promise, status: 404 },
  });
  const { service, account, own } = stage;
  const ann = await account('ann');
  const { id } = await own(ann, { timeoutMs: 30_000 });
  await service.receiver.waitForRequests(1);
  const url = service.receiver.urlAt('127.0.0.1', '/moved');
  await asAccount(stage, ann)('PATCH', `${endpoints}/${id}`, { url });
  release.resolve();
  await eventually('it has confirmed', async () => (await endpointOf(stage, id)).status === 'active');
});

test('a challenge goes to no address that webhooks may not go to', async (t) => {
  const stage = await open(t, { kind: 'status', status: 404 });
  const url = stage.service.receiver.url.replace('http:', 'https:');
  const { id } = await stage.own(await stage.account('ann'), { url });
  await outcomeOf(stage, id);
  await stage.service.stop();
  // The operator has narrowed the policy since the URL was accepted.
  const flags = { dev: 'false', 'allow-net': '127.0.0.2' };
  const service = await startWebhookService(t, { data: stage.service.data, flags });
  const { connectionCount } = stage.service.receiver;
  const asked = await service.call('POST', `${endpoints}/${id}/verify`);
  assert.equal(asked.statusReason, `Its receiver is not verified: ${refusedTarget}`);
  assert.equal(stage.service.receiver.connectionCount, connectionCount);
});

test('endpoints of superusers are not asked, nor any where the setting is off', async (t) => {
  const stage = await open(
    t,
    answering(() => 'no'),
  );
  const { service, account, own } = stage;
  assert.equal((await service.addEndpoint()).status, 'active');
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const { id } = await own(ann);
  await outcomeOf(stage, id);
  const given = await service.addEndpoint({ owner: `users/${ann.id}` });
  assert.equal(given.status, 'unverified', 'who makes it does not matter');
  await outcomeOf(stage, given.id);
  const taken = await service.call('PATCH', `${endpoints}/${given.id}`, { body: { owner: '' } });
  assert.equal(taken.status, 'active');
  const count = service.receiver.requests.length;
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: false } } });
  assert.equal((await own(ann)).status, 'active');
  const asked = await ask('POST', `${endpoints}/${id}/verify`);
  assert.deepEqual([asked.json.status, asked.json.verified], ['active', '']);
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: true } } });
  const kept = await ask('PATCH', `${endpoints}/${id}`, { description: 'still active' });
  assert.equal(kept.json.status, 'active');
  assert.equal(service.receiver.requests.length, count);
  // A catcher is this service itself.
  const catcher = await service.call('POST', '/api/webhooks/catchers', { status: 201 });
  assert.equal((await service.addEndpoint({ owner: `users/${ann.id}`, url: catcher.url })).status, 'active');
});

test('endpoints that are imported for an account are asked as well, and one lease ends with its process', async (t) => {
  const stage = await open(t, confirming);
  const { service, account } = stage;
  const ann = await account('ann');
  const ask = asAccount(stage, ann);
  const definition = { name: 'ann', url: service.receiver.url, owner: `users/${ann.id}` };
  const { created } = await service.call('PUT', `${endpoints}/import`, { body: { endpoints: [definition] } });
  assert.equal((await outcomeOf(stage, created[0].id)).status, 'active');
  service.receiver.mode = answering(() => 'no');
  const url = service.receiver.urlAt('127.0.0.1', '/moved');
  await service.call('PUT', `${endpoints}/import`, { body: { endpoints: [{ ...definition, url }] } });
  assert.equal((await outcomeOf(stage, created[0].id)).status, 'unverified');
  // As a process leaves it that dies while it waits for the answer.
  const lease = (until: number): Promise<unknown> =>
    service.withInstance('default', ({ database: { names }, database }) =>
      database.write((tx) =>
        tx.run(
          sql`UPDATE ${names.table('$endpoint')} SET challenged_until = ${until} WHERE ${names.instance.condition}`,
        ),
      ),
    );
  const verifyOnce = (): Promise<Json> => ask('POST', `${endpoints}/${created[0].id}/verify`);
  await lease(Date.now() + 20_000);
  assert.equal((await verifyOnce()).status, 409);
  await lease(Date.now() - 1);
  assert.equal((await verifyOnce()).status, 200);
});
