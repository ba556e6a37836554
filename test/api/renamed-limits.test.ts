// Both engines: settings change with tables in one transaction.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestService } from '../support/service.ts';

interface Rule {
  readonly label: string;
  readonly audience: string;
  readonly maxRequests: number;
}

/** A rule for an audience, as `posts:list@guest`, by how much it allows. */
function ruleOf(text: string, maxRequests: number): Rule {
  const [label = '', audience] = text.split('@');
  return { label, audience: audience === undefined ? '' : `@${audience}`, maxRequests };
}

/** With these collections, which everybody may list, and these rules. */
async function start(
  t: TestContext,
  names: readonly string[],
  rules: Readonly<Record<string, number>>,
): Promise<TestService> {
  const service = await startService(t);
  for (const name of names) await send(service, 'POST /api/collections', { name, listRule: '' });
  const given = Object.entries(rules).map(([text, max]) => ({ ...ruleOf(text, max), duration: 1_000 }));
  await send(service, 'PATCH /api/settings', { rateLimits: { enabled: true, rules: given } });
  return service;
}

async function send(service: TestService, what: string, body: object): Promise<void> {
  const [method = '', path = ''] = what.split(' ');
  const { status, text } = await service.request(path, { method, token: true, body });
  assert.ok(status < 300, text);
}

async function rulesOf(service: TestService): Promise<Readonly<Record<string, number>>> {
  const { json } = await service.request('/api/settings', { token: true });
  const rules: readonly Rule[] = json.rateLimits.rules;
  return Object.fromEntries(rules.map(({ label, audience, maxRequests }) => [label + audience, maxRequests]));
}

test('section 12: the rate limits of a collection follow it to another name', async (t) => {
  const others = { '*:list': 3, '/api/collections/posts/records': 4, 'posts2:list': 5, posts: 6 };
  const service = await start(t, ['posts'], { 'posts:list@guest': 1, 'posts:view': 2, ...others });
  await send(service, 'PATCH /api/collections/posts', { name: 'news' });
  assert.deepEqual(await rulesOf(service), { 'news:list@guest': 1, 'news:view': 2, ...others });
  const list = async (): Promise<number> => (await service.request('/api/collections/news/records')).status;
  assert.deepEqual([await list(), await list()], [200, 429]);
  const query = new URLSearchParams({ filter: "action = 'settings.update'", sort: '-created', perPage: '1' });
  const { json } = await service.request(`/api/audit?${query.toString()}`, { token: true });
  assert.deepEqual(json.items[0].details, { changed: ['rateLimits.rules'] });
});

test('and so they do where an import exchanges names', async (t) => {
  const service = await start(t, ['a', 'b', 'c'], { 'a:list': 1, 'b:list': 2, 'c:list': 3 });
  const { json } = await service.request('/api/collections?perPage=100', { token: true });
  const all: readonly { readonly id: string; readonly name: string }[] = json.items;
  const idOf = (name: string): string | undefined => all.find((one) => one.name === name)?.id;
  const collections = [
    { id: idOf('a'), name: 'b' },
    { id: idOf('b'), name: 'a' },
    { id: idOf('c'), name: 'd' },
  ];
  await send(service, 'PUT /api/collections/import', { collections });
  assert.deepEqual(await rulesOf(service), { 'b:list': 1, 'a:list': 2, 'd:list': 3 });
});

test('a rule that waited for a collection of the new name gives way, and none in force is lost', async (t) => {
  const waiting = { 'news:list@guest': 9, 'news:create@guest': 8, 'news:view': 7 };
  const service = await start(t, ['posts'], { 'posts:list': 1, 'posts:create@auth': 2, ...waiting });
  await send(service, 'PATCH /api/collections/posts', { name: 'news' });
  const left = { 'news:list': 1, 'news:create@auth': 2, 'news:create@guest': 8, 'news:view': 7 };
  assert.deepEqual(await rulesOf(service), left);
  // What is there can be saved again.
  await send(service, 'PATCH /api/settings', { meta: { appName: 'x' } });
});

test('a change that is refused leaves the rules as they were', async (t) => {
  const service = await start(t, ['posts', 'news'], { 'posts:list': 1 });
  const body = { name: 'news' };
  const { status } = await service.request('/api/collections/posts', { method: 'PATCH', token: true, body });
  assert.equal(status, 400);
  assert.deepEqual(await rulesOf(service), { 'posts:list': 1 });
});
