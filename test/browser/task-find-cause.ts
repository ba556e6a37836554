/** A task as somebody has it who has never seen the dashboard: why did this customer not get their webhook? */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { account } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { type DeliveryStage, startDeliveryStage } from '../support/delivery-stage.ts';
import { type Actions, countActions } from './count-actions.ts';
import { handle } from './note-table.ts';

const skip = withoutChromium;
const actionsMax = 12;
/** From the sign-in to the cause on the screen. */
const clicksMax = 5;

const ok = { kind: 'ok' } as const;
const redirect = { kind: 'redirect', location: 'http://127.0.0.1:9/new', status: 301 } as const;
const gone = { kind: 'status', status: 404, body: 'no route for /hook' } as const;

test(
  'why a customer got no webhook is found, and mended, with a dozen clicks and keys',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [ok, ok, gone, ok], schedule: [] });
    for (const number of ['1001', '1002', '4711']) {
      const order = await stage.addOrder({ number, state: 'paid' });
      await stage.delivery(order, ({ status }) => status !== 'pending');
    }
    const page = await stage.open();
    await page.goto(`${stage.url}/_/`);
    await page.getByLabel('Email').waitFor();
    const actions = countActions(page);
    await actions.click(page.getByLabel('Email'));
    await actions.type(account.email);
    await actions.press('Tab');
    await actions.type(account.password);
    await actions.press('Enter');
    // What the customer has told: their order has the number 4711.
    await actions.click(page.getByRole('navigation').getByRole('link', { name: 'orders' }));
    await page.locator('.grid-body .row').first().waitFor();
    await actions.press('/');
    await actions.type('4711');
    await page.getByText('1 record', { exact: true }).waitFor();
    await actions.click(handle(page, 0));
    await actions.click(page.getByRole('tab', { name: 'Story' }));
    const story = page.getByRole('complementary');
    await story.getByText('The delivery did not arrive.').waitFor();
    await story.getByText('Gave up').waitFor();
    await story.getByText('404', { exact: true }).waitFor();
    t.diagnostic(`the cause is found with ${actions.count()} clicks and keys`);
    await actions.click(story.getByRole('button', { name: 'Resend 1 …' }));
    await actions.press('Enter');
    await story.getByText('The delivery arrived.').waitFor();
    t.diagnostic(`it is mended with ${actions.count()}`);
    assert.ok(actions.count() <= actionsMax, `${actions.count()} clicks and keys`);
    assert.equal(stage.receiver.requests.length, 4);
  },
);

/** Signs in by hand, and counts what is done from there on. */
async function signIn(stage: DeliveryStage): Promise<{ readonly page: Page; readonly clicks: Actions }> {
  const page = await stage.open();
  await page.goto(`${stage.url}/_/`);
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').getByRole('link', { name: 'orders' }).waitFor();
  return { page, clicks: countActions(page) };
}

/** Opens the story of the only order. */
async function openStory(page: Page, clicks: Actions) {
  await clicks.click(page.getByRole('navigation').getByRole('link', { name: 'orders' }));
  await clicks.click(handle(page, 0));
  await clicks.click(page.getByRole('tab', { name: 'Story' }));
  return page.getByRole('complementary');
}

test('a filter that can never match is found within five clicks of the sign-in', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const body = {
    url: stage.receiver.url,
    name: 'shipping',
    collections: ['orders'],
    filter: "state = 'Paid'",
  };
  await stage.pb.send('/api/webhooks/endpoints', { method: 'POST', body });
  const order = await stage.addOrder({ number: '4711', state: 'paid' });
  await stage.delivery(order, ({ status }) => status === 'delivered');
  const { page, clicks } = await signIn(stage);
  const story = await openStory(page, clicks);
  const line = story.getByRole('listitem').filter({ hasText: 'shipping' }).last();
  await line.getByText('Filter is false').waitFor();
  await line.getByText("state = 'Paid'").waitFor();
  await line.getByText('"paid" = "Paid"').waitFor();
  t.diagnostic(`${clicks.count()} clicks`);
  assert.ok(clicks.count() <= clicksMax, `${clicks.count()} clicks`);
  await story.getByText('The last change was not sent to shipping: filter is false.').waitFor();
  await line.getByRole('link', { name: 'Edit filter' }).click();
  await page.locator('#endpoint-filter:focus').waitFor();
  await page.locator('.cm-content:focus', { hasText: "state = 'Paid'" }).waitFor();
});

test('a receiver that redirects is found within five clicks of the sign-in', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [redirect], schedule: [] });
  const order = await stage.addOrder({ number: '4711', state: 'paid' });
  await stage.delivery(order, ({ status }) => status === 'exhausted');
  const { page, clicks } = await signIn(stage);
  const story = await openStory(page, clicks);
  const line = story.getByRole('list', { name: 'Not delivered' }).getByRole('listitem');
  await line.getByText('Gave up').waitFor();
  await line
    .getByText('The receiver answered with a redirect (status 301), which is not followed.')
    .waitFor();
  t.diagnostic(`${clicks.count()} clicks`);
  assert.ok(clicks.count() <= clicksMax, `${clicks.count()} clicks`);
});

test('a paused endpoint is found within five clicks of the sign-in', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const path = `/api/webhooks/endpoints/${stage.endpoint.id}`;
  await stage.pb.send(path, { method: 'PATCH', body: { name: 'shipping' } });
  await stage.pb.send(`${path}/pause`, { method: 'POST' });
  const order = await stage.addOrder({ number: '4711', state: 'paid' });
  await stage.delivery(order, ({ status }) => status === 'pending');
  const { page, clicks } = await signIn(stage);
  await clicks.click(page.getByRole('button', { name: '1 endpoint paused' }));
  await page.getByText('Paused by a user. Deliveries queue up until it is resumed.').waitFor();
  t.diagnostic(`${clicks.count()} clicks from the overview`);
  const story = await openStory(page, clicks);
  const line = story.getByRole('list', { name: 'Not delivered' }).getByRole('listitem');
  await line.getByText('Waiting: endpoint paused').waitFor();
  await line.getByRole('link', { name: 'shipping' }).waitFor();
  await line.getByText('Resume endpoint').waitFor();
  t.diagnostic(`${clicks.count()} clicks with the story of the order`);
  assert.ok(clicks.count() <= clicksMax, `${clicks.count()} clicks`);
});
