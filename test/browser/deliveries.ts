/** The log of events, an event, and a delivery with its attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { choose } from '../support/choose.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;
const failing = { kind: 'status', status: 500, body: 'out of order' } as const;
// Nothing that makes the receiver count as away.
const refusing = { kind: 'status', status: 404 } as const;
const hour = 3_600;

const attempts = (page: Page) => page.locator('.attempt-button');
const statuses = async (page: Page): Promise<readonly string[]> =>
  (await page.locator('.attempt-status').allInnerTexts()).toReversed();

test(
  'a delivery that failed twice shows each attempt, what was answered, and that it arrived',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, {
      modes: [failing, failing, { kind: 'ok' }],
      schedule: [1, 1, 1],
    });
    const order = await stage.addOrder();
    const { id } = await stage.delivery(order, ({ status }) => status === 'delivered');
    const page = await stage.openSignedIn(`deliveries/${id}`);
    await attempts(page).first().waitFor();
    assert.deepEqual(await statuses(page), ['500', '500', '200']);
    await page.getByText('Accepted at attempt 3.').waitFor();
    assert.ok((await page.locator('.waterfall').first().innerText()).includes('in total'));
    await page.getByText('Answer to attempt 3: 200').waitFor();
    await page.getByRole('button', { name: '500 attempt 2' }).click();
    await page.getByText('Answer to attempt 2: 500').waitFor();
    await page.getByLabel('Response body').getByText('out of order').waitFor();
    assert.equal(new URL(page.url()).searchParams.get('attempt'), '2');
    await page.reload();
    await page.getByText('Answer to attempt 2: 500').waitFor();
    await assertAccessible(page, 'delivery');
  },
);

test('Retry now sends what waits for its next try, without a reload', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing, { kind: 'ok' }], schedule: [hour] });
  const order = await stage.addOrder();
  const { id } = await stage.delivery(order, ({ attempts: made }) => made.length === 1);
  const page = await stage.openSignedIn(`deliveries/${id}`);
  await page
    .locator('.attempt-next')
    .getByText(/in (?:\d+ h )?\d+ min/)
    .waitFor();
  await page.getByText('The last attempt failed: The receiver answered with status 500.').waitFor();
  await page.getByRole('button', { name: 'Retry now' }).click();
  await page.locator('.delivery-verdict').getByText('Delivered').waitFor();
  assert.deepEqual(await statuses(page), ['500', '200']);
  assert.equal(stage.receiver.requests.length, 2);
  assert.equal(await page.locator('.attempt-hand').count(), 1, 'only the second attempt was asked for');
  await page.getByRole('link', { name: 'a superuser' }).click();
  await page.getByRole('complementary').getByText('"delivery.retry"').waitFor();
});

test(
  'a delivery that waits is cancelled after a question, and can be sent again after all',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [failing, { kind: 'ok' }], schedule: [hour] });
    const order = await stage.addOrder();
    const { id, event } = await stage.delivery(order, ({ attempts: made }) => made.length === 1);
    const page = await stage.openSignedIn(`deliveries/${id}`);
    await page.getByRole('button', { name: 'Cancel …' }).click();
    await page.getByRole('button', { name: 'Cancel the delivery' }).click();
    await page.locator('.delivery-verdict').getByText('Cancelled').waitFor();
    await page.goto(`${stage.url}/_/events/${event}`);
    await page.getByRole('button', { name: 'Resend …' }).click();
    await page.getByText('1 delivery to 1 endpoint').waitFor();
    assert.equal(stage.receiver.requests.length, 1, 'nothing is sent before the count was seen');
    await page.getByRole('button', { name: 'Send 1 delivery', exact: true }).click();
    await page.getByText('1 delivered').waitFor();
    const ids = stage.receiver.requests.map(({ headers }) => headers['webhook-id']);
    assert.deepEqual(ids, [event, event]);
    await assertAccessible(page, 'event');
  },
);

test(
  'a delivery with dozens of attempts shows the last ones, and all of them on demand',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [refusing], schedule: [] });
    const order = await stage.addOrder();
    const wanted = 30;
    const { id } = await stage.delivery(order, ({ status }) => status === 'exhausted');
    for (let made = 1; made < wanted; made += 1) {
      await stage.pb.send(`/api/webhooks/deliveries/${id}/retry`, { method: 'POST' });
      await stage.delivery(order, (row) => row.status === 'exhausted' && row.attempts.length > made);
    }
    const page = await stage.openSignedIn(`deliveries/${id}`);
    await page.getByText('Gave up').waitFor();
    assert.equal(await attempts(page).count(), 25);
    await page.getByRole('button', { name: `Show all ${wanted} attempts` }).click();
    assert.equal(await attempts(page).count(), wanted);
  },
);

test(
  'the request is shown with a signature that verifies, and secret headers only in the copy',
  { skip },
  async (t) => {
    const headers = { authorization: 'Bearer secret-of-the-receiver', 'x-shop': 'berlin' };
    const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [], headers });
    const order = await stage.addOrder();
    const { id } = await stage.delivery(order, ({ status }) => status === 'delivered');
    const page = await stage.openSignedIn(`deliveries/${id}?tab=request`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByLabel('curl command', { exact: true }).waitFor();
    const [request] = stage.receiver.requests;
    assert.equal(await page.getByLabel('Request body').locator('pre').innerText(), request?.body.toString());
    const shown = await page.content();
    assert.ok(!shown.includes('secret-of-the-receiver'), 'the secret is not in the page');
    assert.ok(shown.includes('berlin'));
    await page.getByRole('button', { name: 'Copy the curl command' }).click();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.ok(copied.includes('secret-of-the-receiver'));
    assert.ok(copied.includes(`X-Service-Signature: ${String(request?.headers['x-service-signature'])}`));
  },
);

test('a signature is compared in the browser, and what is wrong with it is said', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
  const order = await stage.addOrder();
  const { id } = await stage.delivery(order, ({ status }) => status === 'delivered');
  const page = await stage.openSignedIn(`deliveries/${id}?tab=signature`);
  const [request] = stage.receiver.requests;
  const headerOf = (name: string): string => String(request?.headers[name]);
  const compare = async (): Promise<void> => page.getByRole('button', { name: 'Compare' }).click();
  const received = page.getByLabel('Signature your receiver got');
  await page.getByRole('button', { name: 'Use the endpoint’s' }).click();
  const secret = page.getByLabel('Secret');
  await eventually('the secret is there', async () => (await secret.inputValue()) === stage.endpoint.secret);
  assert.ok(!(await page.content()).includes(stage.endpoint.secret), 'it is not in the source of the page');
  await page.getByLabel('webhook-timestamp', { exact: true }).fill(headerOf('webhook-timestamp'));
  await received.fill(headerOf('webhook-signature'));
  await compare();
  await page.getByText('The signature is correct: it is the webhook-signature').waitFor();
  await received.fill(headerOf('x-service-signature'));
  await compare();
  await page.getByText('The signature is correct: it is the X-Service-Signature').waitFor();
  const body = request?.body.toString() ?? '';
  await page.getByLabel('Body your receiver verified').fill(JSON.stringify(JSON.parse(body), null, 2));
  await compare();
  await page.getByText('The body is the same JSON in different bytes').waitFor();
  await page.getByLabel('Body your receiver verified').fill('');
  await received.fill(headerOf('webhook-signature'));
  await page
    .getByLabel('webhook-timestamp', { exact: true })
    .fill(String(Number(headerOf('webhook-timestamp')) + 2));
  await compare();
  await page.getByText(`webhook-timestamp ${headerOf('webhook-timestamp')}`).waitFor();
  await secret.fill('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
  await compare();
  await page.getByText('The secret differs from the endpoint’s.').waitFor();
  await assertAccessible(page, 'signature');
});

test('a script in an answer shows as text', { skip }, async (t) => {
  const script = '<script>document.title = "run"</script><img src=x onerror="document.title = \'run\'">';
  const mode = { kind: 'status', status: 500, headers: { 'x-note': '<b>bold</b>' }, body: script } as const;
  const stage = await startDeliveryStage(t, { modes: [mode], schedule: [] });
  const order = await stage.addOrder({ number: script });
  const { id } = await stage.delivery(order, ({ status }) => status === 'exhausted');
  const page = await stage.openSignedIn(`deliveries/${id}`);
  await page.getByLabel('Response body').getByText(script).waitFor();
  await page.getByRole('group', { name: 'Headers' }).getByText('<b>bold</b>').waitFor();
  for (const tab of ['Request', 'Event', 'Signature']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('tabpanel').locator('pre, form').first().waitFor();
  }
  assert.notEqual(await page.title(), 'run');
});

test('the log is filtered, kept in the address, and new events wait behind a pill', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
  const first = await stage.addOrder();
  await stage.pb.collection('orders').update(first, { state: 'paid' });
  await stage.addOrder({ number: '1002' });
  const page = await stage.openSignedIn('events');
  const rows = page.locator('.data-table tbody tr[data-index]');
  await eventually('all are there', async () => (await rows.count()) === 3);
  await choose(page, 'Type', 'record.update');
  await eventually('one is left', async () => (await rows.count()) === 1);
  await choose(page, 'Type', 'All types');
  await page.getByRole('button', { name: 'Collection: All collections' }).click();
  await page.getByRole('combobox', { name: 'Find in Collection' }).fill('order');
  await page.keyboard.press('Enter');
  await page.getByLabel('Search').fill(first);
  await eventually('two are left', async () => (await rows.count()) === 2);
  assert.equal(new URL(page.url()).search, `?find=${first}&collection=orders`);
  await choose(page, 'Time', 'Last hour');
  await page.reload();
  await eventually('a reload shows the same', async () => (await rows.count()) === 2);
  await page.goto(`${stage.url}/_/events?collection=orders&record=${first}&from=1h`);
  await page.getByRole('button', { name: `Record: ${first}` }).waitFor();
  await eventually('two are left of the record', async () => (await rows.count()) === 2);
  await eventually('a new event is counted', async () => {
    await stage.pb.collection('orders').update(first, { state: 'shipped' });
    return page.getByRole('button', { name: / new$/ }).isVisible();
  });
  assert.equal(await rows.count(), 2, 'nothing moves');
  await page.getByRole('button', { name: / new$/ }).click();
  await eventually('they show', async () => (await rows.count()) > 2);
  await page.getByRole('button', { name: 'Clear' }).click();
  await rows
    .first()
    .getByRole('link', { name: /event of/ })
    .click();
  await page.getByRole('heading', { name: 'Updated in orders' }).waitFor();
  await page.getByText('"state": "shipped"').waitFor();
});

test('a log of many pages goes on where it ended', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
  for (let number = 0; number < 2; number += 1) {
    const batch = stage.pb.createBatch();
    for (let index = 0; index < 50; index += 1)
      batch.collection('orders').create({ number: `${number}.${index}` });
    await batch.send();
  }
  const page = await stage.openSignedIn('events');
  const rows = page.locator('.data-table tbody tr[data-index]');
  await rows.first().waitFor();
  await eventually('the end is reached', async () => {
    await rows.last().scrollIntoViewIfNeeded();
    // Those out of sight are not drawn.
    return (await rows.last().getAttribute('aria-rowindex')) === '101';
  });
  // A row that is half below the head is no target of a finger's size.
  await page.evaluate("document.querySelector('.data-scroll').scrollTo(0, 0)");
  await rows.first().getByRole('checkbox').waitFor();
  await assertAccessible(page, 'events');
});

test(
  'by keys alone: from the palette to a delivery, through its attempts, and a retry',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, {
      modes: [failing, failing, { kind: 'ok' }],
      schedule: [1, hour],
    });
    const order = await stage.addOrder();
    const { id } = await stage.delivery(order, ({ attempts: made }) => made.length === 2);
    const page = await stage.openSignedIn('overview');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.insertText(id);
    await page.getByRole('option', { name: 'Delivery of record.create orders' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Answer to attempt 2: 500').waitFor();
    await page.keyboard.press('j');
    await page.getByText('Answer to attempt 1: 500').waitFor();
    await page.getByRole('tab', { name: 'Response' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByLabel('curl command', { exact: true }).waitFor();
    await page.keyboard.press('r');
    await page.locator('.delivery-verdict').getByText('Delivered').waitFor();
  },
);

test('on a phone nothing is wider than the screen', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing], schedule: [] });
  // As long as URLs get, without a place to break.
  const url = stage.receiver.urlAt('127.0.0.1', `/${'hook'.repeat(60)}`);
  await stage.pb.send(`/api/webhooks/endpoints/${stage.endpoint.id}`, { method: 'PATCH', body: { url } });
  const order = await stage.addOrder();
  const { id, event } = await stage.delivery(order, ({ status }) => status === 'exhausted');
  const page = await stage.openSignedIn('events', { viewport: { width: 375, height: 740 } });
  const places = [
    'deliveries',
    'events',
    `events/${event}`,
    `c/orders?record=${order}&view=story`,
    `deliveries/${id}`,
  ];
  const tabs = ['request', 'event', 'signature'].map((tab) => `deliveries/${id}?tab=${tab}`);
  for (const path of [...places, ...tabs]) {
    await page.goto(`${stage.url}/_/${path}`);
    await page.locator('.data-table .badge, .facts, .endpoint-line').first().waitFor();
    const widths = await page.evaluate<readonly number[]>(
      "[document.documentElement, ...document.querySelectorAll('.drawer-body, .detail, .data-scroll')].map(({ scrollWidth }) => scrollWidth)",
    );
    assert.ok(Math.max(...widths) <= 375, `${path} is ${Math.max(...widths)} wide`);
    await assertAccessible(page, path);
  }
});

test('deliveries that failed for good are listed, by a link with filters', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }, refusing], schedule: [] });
  const first = await stage.addOrder();
  await stage.delivery(first, ({ status }) => status === 'delivered');
  const order = await stage.addOrder();
  await stage.delivery(order, ({ status }) => status === 'exhausted');
  const page = await stage.openSignedIn('deliveries?status=exhausted&from=24h');
  const rows = page.locator('.data-table tbody tr[data-index]');
  await rows.getByText('Gave up').waitFor();
  await rows.getByText(order).waitFor();
  assert.equal(await rows.count(), 1);
  await assertAccessible(page, 'deliveries');
  await page.getByRole('button', { name: 'Clear' }).click();
  await eventually('both show', async () => (await rows.count()) === 2);
  await page.getByRole('button', { name: 'Endpoint: All endpoints' }).click();
  await page.getByRole('option', { name: stage.receiver.url }).click();
  await rows.first().getByRole('link').click();
  await page.getByText('Answer to attempt 1: 404').waitFor();
  await page.goBack();
  assert.equal(new URL(page.url()).search, `?endpoint=${stage.endpoint.id}`);
});
