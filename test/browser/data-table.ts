/** Lists with columns: searched, sorted, laid out, selected, and what is selected sent again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { choose } from '../support/choose.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;
const failing = { kind: 'status', status: 500 } as const;

test('deliveries are found by a text in the body, selected and sent again', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing, failing, { kind: 'ok' }], schedule: [] });
  for (const number of ['4711 Łódź', '4712', '4713']) {
    const order = await stage.addOrder({ number });
    await stage.delivery(order, ({ status }) => status === 'exhausted' || status === 'delivered');
  }
  const page = await stage.openSignedIn('deliveries');
  const rows = page.locator('.data-table tbody tr[data-index]');
  await eventually('all are there', async () => (await rows.count()) === 3);
  await page.getByLabel('Search').fill('łódź');
  await eventually('one is found', async () => (await rows.count()) === 1);
  assert.equal(new URL(page.url()).searchParams.get('find'), 'łódź');
  await page.getByLabel('Search').fill('no such text');
  await page.getByRole('heading', { name: 'No results' }).waitFor();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await eventually('all are there again', async () => (await rows.count()) === 3);
  await choose(page, 'Status', 'Gave up');
  await eventually('two failed', async () => (await rows.count()) === 2);
  await page.getByLabel('Select row 1').click();
  await page.getByLabel('Select row 2').click({ modifiers: ['Shift'] });
  await page.getByText('2 deliveries selected').waitFor();
  await assertAccessible(page, 'selected deliveries');
  await page.getByRole('button', { name: 'Send again …' }).click();
  await page.getByRole('button', { name: 'Send 2 deliveries' }).click();
  await eventually('both arrive', async () => {
    const { totalItems } = await stage.pb.send<{ totalItems: number }>('/api/webhooks/deliveries', {
      query: { filter: "status = 'delivered'" },
    });
    return totalItems === 3;
  });
  await page.getByRole('heading', { name: 'No results' }).waitFor();
});

test('columns are hidden, widened and sorted, kept after a reload, all by keys', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
  for (const name of ['alpha', 'beta', 'gamma'])
    await stage.pb.send('/api/webhooks/endpoints', {
      method: 'POST',
      body: { url: stage.receiver.url, name, collections: ['orders'], status: 'paused' },
    });
  const page = await stage.openSignedIn('webhooks');
  const names = async (): Promise<readonly string[]> => page.locator('.table-link').allInnerTexts();
  await eventually('all are there', async () => (await names()).length === 4);
  // Each standing has a shape of its own.
  const shape = (word: string) => page.locator('.badge', { hasText: word }).locator('svg').first();
  assert.match((await shape('Paused').getAttribute('class')) ?? '', /circle-pause/);
  assert.match((await shape('Active').getAttribute('class')) ?? '', /circle-check/);
  await page.getByRole('button', { name: 'Endpoint', exact: true }).click();
  await page.getByRole('button', { name: 'Endpoint', exact: true }).click();
  await eventually('they are sorted', async () => (await names())[1] === 'gamma');
  assert.equal(new URL(page.url()).searchParams.get('sort'), '-endpoint');
  const head = page.getByRole('columnheader', { name: 'Filter' });
  const widthOf = async (): Promise<number> => (await head.boundingBox())?.width ?? 0;
  const before = await widthOf();
  await page.getByRole('button', { name: 'Columns' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Width of Filter/ }).focus();
  await page.keyboard.press('Enter');
  await eventually('it is wider', async () => Math.round((await widthOf()) - before) === 32);
  await page.getByRole('checkbox', { name: 'Oldest' }).focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('Escape');
  await page.getByRole('columnheader', { name: 'Oldest' }).waitFor({ state: 'detached' });
  await page.reload();
  await eventually('a reload shows the same', async () => (await names())[1] === 'gamma');
  assert.equal(await page.getByRole('columnheader', { name: 'Oldest' }).count(), 0);
  assert.equal(Math.round((await widthOf()) - before), 32);
  // From row to row, and into the selection.
  await page.locator('.table-link').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('tr[data-index="1"] .table-link:focus').waitFor();
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.locator('tr[data-index="2"] .table-link:focus').waitFor();
  await page.keyboard.press('x');
  await page.getByText('2 endpoints selected').waitFor();
  await page.getByRole('button', { name: 'Resume …' }).click();
  await page.keyboard.press('Enter');
  await page.getByText('2 endpoints resumed.').waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('button', { name: 'Reset columns' }).click();
  await page.getByRole('columnheader', { name: 'Oldest' }).waitFor();
  await assertAccessible(page, 'endpoints');
});

test(
  'a table within a page shows its rows on a phone, also those that were loaded before',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const page = await stage.openSignedIn('overview');
    await page.setViewportSize({ width: 375, height: 740 });
    await page.getByRole('heading', { name: 'Collections' }).first().waitFor();
    // The collections are there by then: the table has its rows at once.
    await page.goto(`${stage.url}/_/settings/danger`);
    await page.getByRole('button', { name: 'End the sessions … users' }).waitFor();
    await assertAccessible(page, 'a table on a phone');
  },
);
