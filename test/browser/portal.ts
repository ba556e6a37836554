/** Signing in with an API key: whoever has one sees what its scopes allow, and nothing else. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { choose } from '../support/choose.ts';
import { withoutChromium } from '../support/chromium.ts';
import { type DeliveryStage, startDeliveryStage } from '../support/delivery-stage.ts';
import { Receiver } from '../support/receiver.ts';

const skip = withoutChromium;

async function makeKey({ pb }: BrowserStage, scopes: readonly string[], collections?: readonly string[]) {
  const body = { name: 'for the harbour', scopes, ...(collections !== undefined && { collections }) };
  return pb.send<{ id: string; key: string }>('/api/keys', { method: 'POST', body });
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Use an API key' }).click();
  await page.getByLabel('API key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
}

const linksOf = async (page: Page): Promise<readonly string[]> =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();

/** Every path of the API that the page asks for. */
function watchRequests(page: Page): ReadonlySet<string> {
  const paths = new Set<string>();
  page.on('request', (request) => paths.add(new URL(request.url()).pathname));
  return paths;
}

test('a key of records sees records, and asks for nothing that it may not have', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [{ name: 'title', type: 'text' }],
  });
  await stage.pb.collection('notes').create({ title: 'first' });
  const { key } = await makeKey(stage, ['records:read', 'collections:read']);
  const page = await stage.open();
  const paths = watchRequests(page);
  await page.goto(`${stage.url}/_/login`);
  await signIn(page, key);
  await page.getByRole('heading', { name: 'for the harbour' }).waitFor();
  await assertAccessible(page, 'key');
  assert.deepEqual(await linksOf(page), ['Diagram', 'Rules', 'API key', 'users', 'notes']);
  await page.getByRole('link', { name: 'notes' }).click();
  await page.getByRole('gridcell', { name: 'first' }).waitFor();
  // The palette offers no more than the sidebar.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).fill('Settings');
  await page.getByText('No results for “Settings”').waitFor();
  await page.keyboard.press('Escape');
  // An address that was typed leads to what the key may do.
  await page.goto(`${stage.url}/_/settings/keys`);
  await page.getByRole('heading', { name: 'for the harbour' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/_/key');
  for (const path of ['/api/settings', '/api/logs', '/api/keys', '/api/webhooks/endpoints', '/api/health'])
    assert.ok(!paths.has(path), path);
});

test('a key of webhooks sees no records, and keeps its session over a reload', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { key } = await makeKey(stage, ['webhooks:read']);
  const page = await stage.open();
  const paths = watchRequests(page);
  await page.goto(`${stage.url}/_/login?with=key`);
  await page.getByLabel('API key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'API key' }).click();
  await page.getByText('webhooks:read').waitFor();
  const links = await linksOf(page);
  for (const hidden of ['Overview', 'Logs', 'Settings', 'users']) assert.ok(!links.includes(hidden), hidden);
  await page.reload();
  await page.getByText('webhooks:read').waitFor();
  await page.goto(`${stage.url}/_/c/users`);
  await page.getByText('webhooks:read').waitFor();
  for (const path of ['/api/settings', '/api/collections', '/api/collections/users/records'])
    assert.ok(!paths.has(path), path);
});

test(
  'a key for some collections sees those, and one without definitions says what is missing',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await stage.pb.collections.create({
      name: 'notes',
      type: 'base',
      fields: [{ name: 'title', type: 'text' }],
    });
    const { key } = await makeKey(stage, ['records:read'], ['notes']);
    const page = await stage.open();
    await page.goto(`${stage.url}/_/login`);
    await signIn(page, key);
    await page.getByText('a table here also needs their definitions').waitFor();
    assert.deepEqual(await linksOf(page), ['API key']);
  },
);

test('what is no key is told, and one that is revoked ends the session', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { id, key } = await makeKey(stage, ['records:read', 'collections:read']);
  const page = await stage.open({ refusals: [401] });
  await page.goto(`${stage.url}/_/login`);
  await signIn(page, 'hello');
  await page.getByRole('alert').getByText('Not an API key').waitFor();
  await page.getByLabel('API key', { exact: true }).fill(`${key.slice(0, -1)}_`);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The API key is not valid, has expired or was revoked.').waitFor();
  await page.getByLabel('API key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'for the harbour' }).waitFor();
  assert.ok(!(await page.content()).includes(key), 'the key is not in the page');
  await stage.pb.send(`/api/keys/${id}`, { method: 'DELETE' });
  await page.reload();
  await page.getByText('The key is no longer valid').waitFor();
  const kept = await page.evaluate<string>('JSON.stringify({ ...localStorage, ...sessionStorage })');
  assert.ok(!kept.includes(key), 'nor in what the browser keeps');
});

test('a key for everything sees everything', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { key } = await makeKey(stage, ['admin']);
  const page = await stage.open();
  await page.goto(`${stage.url}/_/login`);
  await signIn(page, key);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const links = await linksOf(page);
  for (const shown of ['Overview', 'Logs', 'Settings', 'API key', 'users'])
    assert.ok(links.includes(shown), shown);
});

const failing = { kind: 'status', status: 500, body: 'out of order' } as const;

/** A stage with an endpoint whose first delivery fails for good, one of somebody else, and a key for the first. */
async function startPortal(t: TestContext, scopes: readonly string[]) {
  const stage: DeliveryStage = await startDeliveryStage(t, {
    modes: [failing, { kind: 'ok' }],
    schedule: [],
  });
  const { pb, receiver, endpoint } = stage;
  await pb.send(`/api/webhooks/endpoints/${endpoint.id}`, {
    method: 'PATCH',
    body: { description: 'Harbour Bakery' },
  });
  const foreign = await pb.send<{ id: string }>('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: `${receiver.url}other`, description: 'Somebody else', status: 'paused' },
  });
  const body = { name: 'for the harbour', scopes, endpoints: [endpoint.id] };
  const { key } = await pb.send<{ key: string }>('/api/keys', { method: 'POST', body });
  const order = await stage.addOrder();
  const delivery = await stage.delivery(
    order,
    ({ id, status }) => status === 'exhausted' && id.endsWith(endpoint.id),
  );
  return { ...stage, foreign: foreign.id, key, order, delivery };
}

test(
  'a portal key sees its part only, corrects its endpoint, finds the failed delivery and sends it again',
  { skip },
  async (t) => {
    const stage = await startPortal(t, ['webhooks:read', 'webhooks:write']);
    const page = await stage.open({ refusals: [404] });
    const paths = watchRequests(page);
    await page.goto(`${stage.url}/_/login?with=key`);
    await page.getByLabel('API key', { exact: true }).fill(stage.key);
    await page.keyboard.press('Enter');
    await page.getByText('Harbour Bakery').waitFor();
    assert.deepEqual(await linksOf(page), ['Webhooks', 'Events', 'Deliveries', 'API key']);
    assert.equal(await page.locator('.table-link').count(), 1);
    assert.equal(await page.getByText('Somebody else').count(), 0);
    assert.equal(await page.getByRole('button', { name: 'New endpoint' }).count(), 0);
    await assertAccessible(page, 'portal');
    await page.locator('.table-link').click();
    await page.getByText('The receiver answered with status 500.').first().waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByText('Only the creator of the endpoint can change this.').waitFor();
    for (const name of ['Events', 'Collections', 'Fields'])
      assert.equal(await page.getByLabel(name, { exact: true }).count(), 0, name);
    assert.equal(await page.getByRole('button', { name: 'Delete the endpoint …' }).count(), 0);
    await page.getByLabel('Description').fill('The bakery at the harbour');
    await page.getByRole('button', { name: /^Save\b/ }).click();
    await page.getByText('Saved.').waitFor();
    await assertAccessible(page, 'settings of an endpoint of the portal');
    await page.getByRole('link', { name: 'Events' }).click();
    await page.locator('.data-table tbody tr[data-index]').first().waitFor();
    assert.equal(await page.locator('.data-table tbody tr[data-index]').count(), 1);
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await choose(page, 'Status', 'Gave up');
    await page.locator('.data-table .table-link').first().click();
    await page.getByText('Answer to attempt 1: 500').waitFor();
    assert.equal(await page.locator(`a[href*="/c/"]`).count(), 0, 'no record is offered');
    await page.getByRole('tab', { name: 'Request' }).click();
    await page.getByText('Headers with fresh signatures are not shown to this API key.').waitFor();
    await page.getByRole('button', { name: 'Resend …' }).click();
    await page.getByRole('button', { name: 'Send 1 delivery', exact: true }).click();
    await page.locator('.delivery-verdict').getByText('Delivered').waitFor();
    assert.equal(stage.receiver.requests.length, 2);
    await page.goto(`${stage.url}/_/webhooks/${stage.foreign}`);
    await page.getByRole('heading', { name: 'Endpoint not found' }).waitFor();
    await page.goto(`${stage.url}/_/c/orders`);
    await page.getByText('only for 1 endpoint').waitFor();
    await page.getByRole('link', { name: 'The bakery at the harbour' }).waitFor();
    for (const path of paths)
      assert.doesNotMatch(
        path,
        /^\/api\/(?:settings$|collections|health|logs|webhooks\/(?:feed|stats|event-types))/,
      );
  },
);

test('a key that only reads webhooks is offered nothing that changes something', { skip }, async (t) => {
  const stage = await startPortal(t, ['webhooks:read']);
  const page = await stage.open();
  await page.goto(`${stage.url}/_/login?with=key`);
  await page.getByLabel('API key', { exact: true }).fill(stage.key);
  await page.keyboard.press('Enter');
  const buttonsOf = async (): Promise<string> => (await page.locator('main button').allInnerTexts()).join();
  await page.locator('.table-link').waitFor();
  await page.keyboard.press('c');
  assert.equal(new URL(page.url()).search, '');
  assert.doesNotMatch(await buttonsOf(), /New/);
  await page.locator('.table-link').click();
  await page.getByText('The receiver answered with status 500.').first().waitFor();
  assert.doesNotMatch(await buttonsOf(), /Pause|Replay|Retry|Test/);
  await page.getByRole('tab', { name: 'Settings' }).click();
  assert.ok(await page.locator('#endpoint-url').isDisabled());
  assert.doesNotMatch(await buttonsOf(), /Save|Rotate|Delete/);
  await assertAccessible(page, 'settings of an endpoint to read');
  await page.goto(`${stage.url}/_/deliveries/${stage.delivery.id}`);
  await page.getByText('Answer to attempt 1: 500').waitFor();
  assert.doesNotMatch(await buttonsOf(), /Resend|Retry|Cancel/);
  await page.goto(`${stage.url}/_/events/${stage.delivery.event}`);
  await page.getByText('Gave up').waitFor();
  assert.doesNotMatch(await buttonsOf(), /Resend/);
});

test(
  'a superuser makes a key for an endpoint, and names the site that has the portal',
  { skip },
  async (t) => {
    const stage = await startPortal(t, ['webhooks:read']);
    const page = await stage.openSignedIn('settings/keys?create=yes', { refusals: [400] });
    await page.getByLabel('Name').fill('Harbour');
    assert.equal(await page.getByText('Only for these endpoints').count(), 0);
    await page.getByRole('checkbox', { name: /^webhooks:read/ }).check();
    await page.getByRole('checkbox', { name: 'Harbour Bakery' }).check();
    await assertAccessible(page, 'a key for an endpoint');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('/_/login?with=key').waitFor();
    await page.getByRole('button', { name: 'I’ve copied it' }).click();
    await page.getByText('only 1 endpoint').first().waitFor();
    const { items } = await stage.pb.send<{ items: readonly { name: string; endpoints: unknown }[] }>(
      '/api/keys',
      {},
    );
    assert.deepEqual(items.find(({ name }) => name === 'Harbour')?.endpoints, [stage.endpoint.id]);
    await page.goto(`${stage.url}/_/settings/access`);
    const sites = page.getByLabel('Sites that may');
    await sites.fill('https://shop.example.com/portal');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Must be an origin such as').waitFor();
    await sites.fill('https://shop.example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    const { headers } = await fetch(`${stage.url}/_/`);
    assert.match(
      headers.get('content-security-policy') ?? '',
      /frame-ancestors https:\/\/shop\.example\.com$/,
    );
  },
);

test(
  'the portal works in a frame of a site that the settings name, where browsers keep nothing',
  { skip },
  async (t) => {
    const stage = await startPortal(t, ['webhooks:read', 'webhooks:write']);
    const html = `<!doctype html><title>Shop</title><iframe title="Webhooks" width="1000" height="700" src="${stage.url}/_/login?with=key"></iframe>`;
    const shop = await Receiver.open({
      mode: { kind: 'status', status: 200, headers: { 'content-type': 'text/html' }, body: html },
    });
    t.after(() => shop.close());
    // Another site than that of the service, and not only another origin.
    const embedder = new URL(shop.url.replace('127.0.0.1', 'localhost')).origin;
    await stage.pb.send('/api/settings', { method: 'PATCH', body: { meta: { frameAncestors: [embedder] } } });
    const page = await stage.open({ embedder });
    await page.goto(`${embedder}/`);
    const frame = page.frameLocator('iframe');
    await frame.getByLabel('API key', { exact: true }).fill(stage.key);
    await page.keyboard.press('Enter');
    await frame.locator('.table-link').click();
    await frame.getByRole('tab', { name: 'Deliveries' }).click();
    await frame.locator('.data-table .table-link').first().click();
    await frame.getByRole('button', { name: 'Resend …' }).click();
    await frame.getByRole('button', { name: 'Send 1 delivery', exact: true }).click();
    await frame.locator('.delivery-verdict').getByText('Delivered').waitFor();
  },
);
