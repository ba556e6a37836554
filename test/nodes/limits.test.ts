import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import { signInLimits } from '../../src/limits/sign-in-guard.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { ask } from '../support/postgres.ts';
import { NodeGroup, posts, superuser, type Answer } from './node-group.ts';
import { notInSample } from '../support/sample.ts';

const users = '/api/collections/users';

interface Three {
  readonly group: NodeGroup;
  readonly clock: MovableClock;
  readonly nodes: readonly [App, App, App];
  /** One request of a guest through the node of this number, or of whom the token is. */
  readonly ask: (node: number, what: string, more?: More) => Promise<Answer>;
}

interface More {
  readonly body?: unknown;
  readonly token?: string;
}

/** Three nodes that know these settings from their start, at a time that stands still: no window ends before it is told to. */
async function startThree(t: TestContext, settings: object = {}): Promise<Three> {
  const clock = new MovableClock();
  const group = await NodeGroup.open(t, clock);
  const first = await group.start();
  await group.signIn(first);
  for (const collection of [posts, { name: 'members', type: 'auth' }])
    await group.get(first, 'POST /api/collections', collection);
  await group.get(first, 'PATCH /api/settings', settings);
  const nodes = [first, await group.start(), await group.start()] as const;
  const { token: root } = group;
  const asking: Three['ask'] = (node, what, { body, token = '' } = {}) => {
    group.token = token;
    // The token is read before anything is waited for.
    const answer = group.ask(nodes[node % nodes.length] ?? first, what, body);
    group.token = root;
    return answer;
  };
  return { group, clock, nodes, ask: asking };
}

/** By what each rule allows: a request that comes under it, and that a node answers without its database. */
const limited = new Map([
  [1, { label: '/api/health', what: 'GET /api/health' }],
  [5, { label: 'users:listAuthMethods', what: `GET ${users}/auth-methods` }],
  [100, { label: 'members:listAuthMethods', what: 'GET /api/collections/members/auth-methods' }],
  [1_000, { label: '*:listAuthMethods', what: 'GET /api/collections/_superusers/auth-methods' }],
]);

const rateLimits = {
  enabled: true,
  rules: [...limited].map(([maxRequests, { label }]) => ({ label, maxRequests, audience: '', duration: 10 })),
};

/** Which node each request goes to, and how many are on their way at the same time. */
const spreads: readonly (readonly [name: string, together: number, nodeOf: (index: number) => number])[] = [
  ['evenly', 3, (index) => index],
  ['on one node', 1, () => 1],
  ['90, 9 and 1 of a hundred', 5, (index) => (index % 100 < 90 ? 0 : index % 100 < 99 ? 1 : 2)],
  ['at once', 500, (index) => index],
];

async function statusesOf(
  count: number,
  together: number,
  send: (index: number) => Promise<Answer>,
): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let from = 0; from < count; from += together) {
    const indexes = Array.from({ length: Math.min(together, count - from) }, (_, index) => from + index);
    statuses.push(...(await Promise.all(indexes.map(send))).map(({ status }) => status));
  }
  return statuses;
}

function countOf(statuses: readonly number[], status: number): number {
  return statuses.filter((one) => one === status).length;
}

test(
  'one client gets what a rule allows over three nodes, however it spreads its requests',
  notInSample,
  async (t) => {
    const three = await startThree(t, { rateLimits });
    for (const [max, { what }] of limited) {
      for (const [name, together, nodeOf] of spreads) {
        const asked = Math.ceil(max * 1.5) + 6;
        const statuses = await statusesOf(asked, together, (index) => three.ask(nodeOf(index), what));
        const got = asked - countOf(statuses, 429);
        assert.equal(got, max, name);
        three.clock.move(10_000);
      }
    }
    assert.deepEqual(three.group.log, []);
  },
);

test('in windows below ten seconds each node counts for itself', async (t) => {
  const rules = [9, 10].map((duration) => ({
    label: `/api/${duration === 9 ? 'health' : ''}`,
    duration,
    maxRequests: 3,
    audience: '',
  }));
  const three = await startThree(t, { rateLimits: { enabled: true, rules } });
  const got = async (what: string): Promise<number> =>
    countOf(await statusesOf(15, 1, (index) => three.ask(index, what)), 200);
  assert.equal(await got('GET /api/health'), 9);
  assert.equal(await got(`GET ${users}/auth-methods`), 3);
});

test('each item of a batch counts for all nodes', async (t) => {
  const rules = [{ label: '*:create', maxRequests: 20, audience: '', duration: 10 }];
  const three = await startThree(t, { rateLimits: { enabled: true, rules } });
  const item = { method: 'POST', url: '/api/collections/posts/records', body: { title: 'x' } };
  const send = (node: number, count: number): Promise<Answer> =>
    three.ask(node, 'POST /api/batch', { body: { requests: Array.from({ length: count }, () => item) } });
  assert.equal((await send(0, 9)).status, 200);
  assert.equal((await send(1, 9)).status, 200);
  const refused = await send(2, 9);
  assert.equal(refused.status, 400);
  assert.equal(refused.json.data.requests['2'].response.status, 429);
  for (const node of [0, 1, 2])
    assert.equal((await three.ask(node, 'POST /api/collections/posts/records', { body: {} })).status, 429);
});

test('A-15 wrong passwords are counted over all nodes, of an account that does not exist too, and right ones are not', async (t) => {
  const three = await startThree(t);
  const path = 'POST /api/collections/_superusers/auth-with-password';
  const max = signInLimits.accountFromClientMax;
  const right = await statusesOf(max + 10, 10, (index) => three.ask(index, path, { body: superuser }));
  assert.equal(countOf(right, 200), max + 10);
  for (const [identity, together] of [
    [superuser.identity, 7],
    ['nobody@example.com', 30],
  ] as const) {
    const wrong = (index: number): Promise<Answer> =>
      three.ask(index, path, { body: { identity, password: 'wrong' } });
    const statuses = await statusesOf(max * 2, together, wrong);
    assert.deepEqual([countOf(statuses, 400), countOf(statuses, 429)], [max, max], identity);
    for (const node of [0, 1, 2]) {
      const { status, retryAfter } = await three.ask(node, path, {
        body: { identity, password: superuser.password },
      });
      assert.deepEqual([status, retryAfter], [429, '300']);
    }
  }
  three.clock.move(signInLimits.windowMs);
  assert.equal((await three.ask(2, path, { body: superuser })).status, 200);
  assert.deepEqual(three.group.log, []);
});

interface Guest {
  readonly id: string;
  readonly email: string;
  readonly token: string;
}

async function signUp(three: Three, name: string): Promise<Guest> {
  const email = `${name}@example.com`;
  const secrets = { password: 'correct horse', passwordConfirm: 'correct horse' };
  const made = await three.ask(0, `POST ${users}/records`, { body: { email, ...secrets } });
  assert.equal(made.status, 201, JSON.stringify(made.json));
  const body = { identity: email, password: secrets.password };
  const { json } = await three.ask(0, `POST ${users}/auth-with-password`, { body });
  return { id: json.record.id, email, token: json.token };
}

test('A-21 wrong one-time passwords and wrong old passwords are counted over all nodes', async (t) => {
  const three = await startThree(t);
  await three.group.get(three.nodes[0], `PATCH ${users}`, { otp: { enabled: true, length: 4 } });
  const ann = await signUp(three, 'ann');
  for (const node of [1, 2])
    await eventually('codes on all nodes', async () => {
      const { json } = await three.ask(node, `GET ${users}/auth-methods`);
      return json.otp.enabled === true;
    });
  for (const together of [1, 12]) {
    // Its beginning says of which address it is.
    const otpId = `${together}`.padEnd(15, 'x');
    const statuses = await statusesOf(12, together, (index) =>
      three.ask(index, `POST ${users}/auth-with-otp`, { body: { otpId, password: '0000' } }),
    );
    assert.deepEqual([countOf(statuses, 400), countOf(statuses, 429)], [5, 7]);
  }
  const change = { oldPassword: 'wrong', password: 'battery staple', passwordConfirm: 'battery staple' };
  const statuses = await statusesOf(30, 6, (index) =>
    three.ask(index, `PATCH ${users}/records/${ann.id}`, { body: change, token: ann.token }),
  );
  assert.deepEqual([countOf(statuses, 400), countOf(statuses, 429)], [20, 10]);
  assert.deepEqual(three.group.log, []);
});

test('a mail is sent once in two minutes and another address is asked for ten times an hour, through whichever nodes', async (t) => {
  const three = await startThree(t);
  await three.group.get(three.nodes[0], `PATCH ${users}`, { authAlert: { enabled: false } });
  const ann = await signUp(three, 'ann');
  const bob = await signUp(three, 'bob');
  const cid = await signUp(three, 'cid');
  const dan = await signUp(three, 'dan');
  const verify = async (node: number, { email }: Guest): Promise<void> => {
    const { status } = await three.ask(node, `POST ${users}/request-verification`, { body: { email } });
    assert.equal(status, 204);
  };
  const mailed = (node: number, { email }: Guest): Promise<unknown> =>
    eventually(`a mail of node ${node}`, async () => {
      const { items } = await three.group.get(three.nodes[node] ?? three.nodes[0], 'GET /api/mails');
      assert.deepEqual([items.length, items[0]?.to], [1, email]);
      return true;
    });
  await verify(0, ann);
  await mailed(0, ann);
  // What each node sends next comes after what it was asked for before.
  for (const [node, other] of [
    [1, cid],
    [2, dan],
  ] as const) {
    await verify(node, ann);
    await verify(node, other);
    await mailed(node, other);
  }
  const statuses = await statusesOf(15, 1, (index) =>
    three.ask(index, `POST ${users}/request-email-change`, {
      body: { newEmail: `b${index}@example.com` },
      token: bob.token,
    }),
  );
  assert.deepEqual([countOf(statuses, 204), countOf(statuses, 429)], [10, 5]);
});

test('a node clears away what others have left when it starts', async (t) => {
  const three = await startThree(t);
  const rows = (): Promise<unknown> => ask(three.group.postgres, 'SELECT key FROM chancery.limit_window');
  assert.notDeepEqual(await rows(), []);
  three.clock.move(signInLimits.windowMs);
  await three.group.start();
  assert.deepEqual(await rows(), []);
});
