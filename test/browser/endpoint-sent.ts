/** What an endpoint is sent, at the head of its overview: also that it never matches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { account } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';
import { countActions } from './count-actions.ts';

const skip = withoutChromium;
const ok = { kind: 'ok' } as const;
const clicksMax = 5;

test('an endpoint that never matches says so, and leads to the false comparison', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const { pb, receiver } = stage;
  await pb.send('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: receiver.url, name: 'shipping', collections: ['orders'], filter: "state = 'Paid'" },
  });
  const order = await stage.addOrder({ number: '4711', state: 'open' });
  await pb.collection('orders').update(order, { state: 'paid' });
  const page = await stage.open();
  await page.goto(`${stage.url}/_/`);
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.keyboard.press('Enter');
  const clicks = countActions(page);
  await clicks.click(page.getByRole('navigation').getByRole('link', { name: 'Webhooks' }));
  await clicks.click(page.locator('.table-link').filter({ hasText: 'shipping' }));
  const card = page.getByRole('region', { name: 'What it is sent' });
  await card.getByText('Never matched').waitFor();
  await card.getByText("state = 'Paid'").waitFor();
  await card.getByText('Matches none of 2 changes in the last 24 hours.').waitFor();
  await assertAccessible(page, 'endpoint that never matches');
  await clicks.click(card.getByRole('link', { name: 'See why' }));
  await page.getByText('"paid" = "Paid"').waitFor();
  t.diagnostic(`${clicks.count()} clicks`);
  assert.ok(clicks.count() <= clicksMax, `${clicks.count()} clicks`);
});

test('an endpoint that matches shows how often and when last', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const order = await stage.addOrder();
  await stage.pb.send(`/api/webhooks/endpoints/${stage.endpoint.id}/test`, { method: 'POST', body: {} });
  await stage.pb.collection('orders').update(order, { state: 'paid' });
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}`);
  const card = page.getByRole('region', { name: 'What it is sent' });
  const values = card.getByRole('definition');
  await card.locator('time').waitFor();
  const [events, collections, filter, matches] = await values.allInnerTexts();
  assert.deepEqual(
    [events, collections, filter, matches],
    ['Created, Updated, Deleted', 'orders', 'None', '2'],
    'a test is no match',
  );
  await card.getByRole('link', { name: 'Add filter' }).click();
  await page.locator('#endpoint-filter:focus').waitFor();
});

test('a new endpoint that no change was for has no match yet, and is no concern', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const { pb, receiver } = stage;
  await stage.addOrder({ number: '1', state: 'paid' });
  const { id } = await pb.send<{ id: string }>('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: receiver.url, collections: ['orders'], filter: "state = 'paid'" },
  });
  const page = await stage.openSignedIn(`webhooks/${id}`);
  const card = page.getByRole('region', { name: 'What it is sent' });
  await card.getByText('None yet').waitFor();
  await card.getByText('Matches 1 of 1 change in the last 24 hours.').waitFor();
  assert.equal(await card.getByText('Never matched').count(), 0);
  await stage.addOrder({ number: '2', state: 'paid' });
  await eventually('its first match shows', async () => {
    await page.reload();
    await card.waitFor();
    return card.locator('dd time').isVisible();
  });
});

test('a select that is compared with none of its values is a warning', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const { pb, receiver } = stage;
  await pb.collections.create({
    name: 'invoices',
    type: 'base',
    fields: [{ name: 'status', type: 'select', values: ['open', 'paid'], maxSelect: 1 }],
  });
  const { id } = await pb.send<{ id: string }>('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: receiver.url, collections: ['invoices'], filter: "status = 'Paid'" },
  });
  const page = await stage.openSignedIn(`webhooks/${id}`);
  const warning = page.getByText('"Paid" is not a value of this field of invoices.');
  await page.getByRole('region', { name: 'What it is sent' }).getByText('None yet').waitFor();
  await warning.waitFor();
  await page.getByRole('link', { name: 'Edit filter' }).click();
  await warning.waitFor();
  await assertAccessible(page, 'filter with a warning');
  await page.getByLabel('Filter').fill("status = 'paid'");
  await warning.waitFor({ state: 'detached' });
});
