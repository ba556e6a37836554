/** No screen makes more requests because there is more to show: 200 collections, 1,000 endpoints. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { handle } from './note-table.ts';

const skip = withoutChromium;
const requestsMax = 8;
const collectionCount = 200;
const endpointCount = 1_000;
const importedTogether = 200;

/** What a page asks the service, each once however often it looks again. */
function watchRequests(page: Page): { readonly asked: Set<string>; readonly open: Set<unknown> } {
  const asked = new Set<string>();
  const open = new Set<unknown>();
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!url.pathname.startsWith('/api/')) return;
    asked.add(`${request.method()} ${url.pathname}${url.search}`);
    // Realtime and the feed stay open.
    if (!/realtime|wait=/.test(url.href)) open.add(request);
  });
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  return { asked, open };
}

const screens: readonly (readonly [path: string, ready: string])[] = [
  ['overview', '.counts .count-number:not(:has(.placeholder))'],
  ['webhooks', '.table-link'],
  ['webhooks/ENDPOINT', '.endpoint-tabs'],
  ['webhooks/ENDPOINT?tab=deliveries', '.data-empty'],
  ['webhooks/ENDPOINT?tab=settings', '#endpoint-filter'],
  ['events', '.table-link'],
  ['events/EVENT', '.facts'],
  ['deliveries', '.data, .empty'],
  ['c/c001', '.row'],
  ['c/c001/schema', '.schema-field'],
  ['rules', '.rules-cell'],
  ['diagram', '.diagram-box'],
  ['logs', '.log-request'],
  ['settings/general', '.settings-form'],
  ['settings/keys', '.empty, .table-main'],
  ['settings/audit', '.data-table .table-link'],
];

test(
  `with ${collectionCount} collections and ${endpointCount} endpoints each screen makes at most ${requestsMax} requests`,
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const { pb } = stage;
    const collections = Array.from({ length: collectionCount }, (_, index) => ({
      name: `c${String(index).padStart(3, '0')}`,
      fields: [{ name: 'title', type: 'text' }],
    }));
    for (let at = 0; at < collectionCount; at += importedTogether / 4)
      await pb.send('/api/collections/import', {
        method: 'PUT',
        body: { collections: collections.slice(at, at + importedTogether / 4) },
      });
    const endpoints = Array.from({ length: endpointCount }, (_, index) => ({
      name: `endpoint-${String(index).padStart(4, '0')}`,
      url: 'http://127.0.0.1:9/',
      collections: index === 0 ? ['c000'] : ['c199'],
      status: index % 10 === 0 ? 'paused' : 'active',
    }));
    for (let at = 0; at < endpointCount; at += importedTogether)
      await pb.send('/api/webhooks/endpoints/import', {
        method: 'PUT',
        body: { endpoints: endpoints.slice(at, at + importedTogether) },
      });
    await pb.collection('c001').create({ title: 'one' });
    const [event] = (await pb.send<{ items: readonly { id: string }[] }>('/api/webhooks/events', {})).items;
    const [endpoint] = (await pb.send<{ items: readonly { id: string }[] }>('/api/webhooks/endpoints', {}))
      .items;
    const ids: Readonly<Record<string, string>> = { ENDPOINT: endpoint?.id ?? '', EVENT: event?.id ?? '' };
    for (const [path, ready] of screens) {
      // A page of its own: what another screen has fetched is not there.
      const page = await stage.open();
      await page.addInitScript(stage.signingIn());
      const { asked, open } = watchRequests(page);
      await page.goto(`${stage.url}/_/${path.replaceAll(/[A-Z]+/g, (name) => ids[name] ?? '')}`);
      await page.locator(ready).first().waitFor();
      await eventually(`all of ${path} is answered`, () => Promise.resolve(open.size === 0));
      t.diagnostic(`${asked.size} ${path}`);
      assert.ok(asked.size <= requestsMax, `${path} asks: ${[...asked].join(', ')}`);
      if (path === 'c/c001') {
        asked.clear();
        await handle(page, 0).click({ force: true });
        await page.getByRole('tab', { name: 'Story' }).click();
        await page.locator('.drawer .event-endpoints').first().waitFor();
        await eventually('the story is answered', () => Promise.resolve(open.size === 0));
        t.diagnostic(`${asked.size} for the story of a record`);
        assert.ok(asked.size <= requestsMax, `a story asks: ${[...asked].join(', ')}`);
      }
      await page.context().close();
    }
    const page = await stage.openSignedIn('webhooks');
    await page.locator('.data-table').getByText('endpoint-0000').waitFor();
    const drawn = await page.locator('.data-table tbody tr[data-index]').count();
    assert.ok(drawn < 100, `${drawn} rows are drawn`);
    await page.getByLabel('Find an endpoint').fill('endpoint-0999');
    await page.locator('.data-table').getByText('endpoint-0999').waitFor();
    await assertAccessible(page, 'one of a thousand endpoints');
  },
);
