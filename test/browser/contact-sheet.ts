/** Takes a picture of every screen, light and dark, on a desk and on a phone, into test/browser/pictures, and has axe look at each. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { demoWorld } from '../../src/cli/records/demo-world.ts';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { instanceScreens } from '../support/instance-pictures.ts';
import { operatorScreens, openOperatorWorld, type PicturedScreen } from '../support/operator-pictures.ts';

const folder = fileURLToPath(new URL('pictures', import.meta.url));

/** `PICTURES=operator` takes those whose names begin so. */
const { PICTURES: chosen = '' } = process.env;
const isChosen = (name: string): boolean => name.startsWith(chosen);

const devices = {
  desk: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 375, height: 740 }, deviceScaleFactor: 2 },
};

test('every screen, in pictures', { skip: withoutChromium }, async (t) => {
  mkdirSync(folder, { recursive: true });
  const stage = await startSignedInStage(t);
  const first = await fill(stage);
  const told = await tell(stage, first);
  const operator = await openOperatorWorld(stage);
  for (const [device, options] of Object.entries(devices))
    for (const colorScheme of ['light', 'dark'] as const)
      for (const screen of [...instanceScreens, ...operatorScreens].filter(({ name }) => isChosen(name)))
        await t.test(`${screen.name}, ${device}, ${colorScheme}`, async () => {
          const page = await show(stage, {
            screen,
            ids: { FIRST: first, ...told, ...operator },
            options: { ...options, colorScheme },
          });
          await page.screenshot({ path: `${folder}/${screen.name}-${device}-${colorScheme}.png` });
          await assertAccessible(page, screen.name);
          await assertStill(page);
          await page.context().close();
        });
});

/** The shell has what scrolls in it: the page around it must not. */
async function assertStill(page: Page): Promise<void> {
  const scrolls = await page.evaluate<readonly number[]>(
    `document.querySelector('.shell') === null ? [] : [scrollBy(50, 50), scrollX, scrollY].slice(1)`,
  );
  assert.ok(
    scrolls.every((offset) => offset === 0),
    'the page scrolls',
  );
}

interface Showing {
  readonly screen: PicturedScreen;
  /** What stands for ids in the paths, which nobody knows before. */
  readonly ids: Readonly<Record<string, string>>;
  readonly options: object;
}

async function show(stage: BrowserStage, { screen, ids, options }: Showing): Promise<Page> {
  const known = screen.path.replaceAll(/[A-Z]{5,}/g, (name) => ids[name] ?? name);
  const path = known.replace('LASTLOG', await lastLog(stage));
  const all = { ...options, refusals: screen.refusals ?? [] };
  const isOpened = screen.isGuest === true || screen.isOperator === true;
  const page = isOpened ? await stage.open(all) : await stage.openSignedIn(path, all);
  if (screen.isOperator === true && screen.isGuest !== true)
    await page.addInitScript(
      `sessionStorage.setItem('chancery:/_/:operator', ${JSON.stringify(ids['OPERATOR'])})`,
    );
  if (isOpened) await page.goto(`${stage.url}/_/${path}`);
  await page.locator(screen.ready).first().waitFor();
  await screen.act?.(page, ids);
  // Some screens wait for news all the time.
  await page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => undefined);
  return page;
}

async function lastLog({ pb }: BrowserStage): Promise<string> {
  const { items } = await pb.logs.getList(1, 1, { sort: '-created' });
  return items[0]?.id ?? '';
}

/** Fills the instance with the demo world, and a collection with a field of every type. Returns the id of an order. */
async function fill({ pb }: BrowserStage): Promise<string> {
  const world = demoWorld({ password: 'correct horse', now: Date.now() });
  await pb.send('/api/collections/import', {
    method: 'PUT',
    body: { collections: [...world.collections, everything], deleteMissing: false },
  });
  const { url } = await pb.send<{ url: string }>('/api/webhooks/catchers', { method: 'POST' });
  for (const endpoint of [
    { url, description: 'Storefront' },
    { url: `${url}?status=503`, description: 'Accounting', events: ['record.create'] },
  ])
    await pb.send('/api/webhooks/endpoints', { method: 'POST', body: { ...endpoint, schedule: [3_600] } });
  for (const [collection, records] of world.records)
    for (let start = 0; start < records.length; start += 50) {
      const batch = pb.createBatch();
      for (const record of records.slice(start, start + 50))
        batch.collection(collection).create({ ...record });
      await batch.send();
    }
  const order = await pb.collection('orders').getFirstListItem("status='paid'", { sort: '-number' });
  return order.id;
}

/** Ships the order: one endpoint refuses the webhook, and the filter of another does not match. Returns the ids of the event and the delivery. */
async function tell({ pb }: BrowserStage, order: string): Promise<Readonly<Record<string, string>>> {
  const catcher = await pb.send<{ url: string }>('/api/webhooks/catchers', { method: 'POST' });
  const body = { url: `${catcher.url}?status=503`, description: 'Warehouse', schedule: [1, 3_600] };
  const { id } = await pb.send<{ id: string }>('/api/webhooks/endpoints', { method: 'POST', body });
  await pb.send('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: catcher.url, description: 'Fraud check', collections: ['orders'], filter: 'total > 500' },
  });
  const portal = { name: 'Warehouse', scopes: ['webhooks:read', 'webhooks:write'], endpoints: [id] };
  const { key } = await pb.send<{ key: string }>('/api/keys', { method: 'POST', body: portal });
  await pb.collection('orders').update(order, { status: 'shipped', note: 'Leave at the gate.' });
  return eventually('two attempts were made', async () => {
    const { items } = await pb.send<{ items: readonly Told[] }>('/api/webhooks/deliveries', {
      query: { filter: `endpoint='${id}'` },
    });
    const [delivery] = items;
    return (
      delivery !== undefined &&
      delivery.attempts.length === 2 && { EVENT: delivery.event, DELIVERY: delivery.id, PORTAL: key }
    );
  });
}

interface Told {
  readonly id: string;
  readonly event: string;
  readonly attempts: readonly unknown[];
}

const everything = {
  id: 'everything_every',
  name: 'everything',
  type: 'base',
  fields: [
    { name: 'title', type: 'text', required: true, help: 'What people see first.' },
    { name: 'price', type: 'number' },
    { name: 'isDraft', type: 'bool' },
    { name: 'mail', type: 'email' },
    { name: 'site', type: 'url' },
    { name: 'body', type: 'editor' },
    { name: 'published', type: 'date' },
    { name: 'state', type: 'select', values: ['draft', 'review', 'done'], maxSelect: 1 },
    { name: 'tags', type: 'select', values: ['sea', 'land', 'air'], maxSelect: 3 },
    { name: 'picture', type: 'file', maxSelect: 1 },
    { name: 'products', type: 'relation', collectionId: 'demo_products', maxSelect: 5 },
    { name: 'meta', type: 'json' },
    { name: 'place', type: 'geoPoint' },
    { name: 'created', type: 'autodate', onCreate: true },
  ],
};
