/** Endpoints: the list, a new one, and one with its deliveries, test, settings and replays. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { makeCertificate } from '../support/certificate.ts';
import { choose } from '../support/choose.ts';
import { withoutChromium } from '../support/chromium.ts';
import { type DeliveryStage, startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';

const skip = withoutChromium;
const failing = { kind: 'status', status: 500, body: 'out of order' } as const;
const ok = { kind: 'ok' } as const;
const script = '<script>document.title = "run"</script><img src=x onerror="document.title = \'run\'">';

const secretOf = async (page: Page): Promise<string> => page.locator('.secret code').innerText();
const dialog = (page: Page) => page.getByRole('dialog');

/** Makes orders whose deliveries are given up. */
async function addFailures(stage: DeliveryStage, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const order = await stage.addOrder({ number: String(number), state: number === 0 ? 'paid' : 'open' });
    await stage.delivery(order, ({ status }) => status === 'exhausted');
  }
}

test(
  'an endpoint is checked while one types, made, verified and tested, and its secret shows once',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const receiver = await Receiver.open({ mode: { kind: 'status', status: 200, body: script } });
    t.after(() => receiver.close());
    await stage.pb.collections.create({ name: 'orders', type: 'base' });
    const page = await stage.openSignedIn('webhooks');
    await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
    await assertAccessible(page, 'no endpoints');
    await page.keyboard.press('c');
    const drawer = page.getByRole('complementary', { name: 'New endpoint' });
    await drawer.getByLabel('URL').fill('https://10.1.2.3/hook');
    await drawer.getByText('This address is not allowed as a webhook target.').waitFor();
    await drawer.getByLabel('URL').fill(receiver.url);
    await drawer.getByText('URL allowed.').waitFor();
    await drawer.getByRole('button', { name: 'Deleted' }).click();
    await drawer.getByRole('button', { name: 'orders' }).click();
    await drawer.getByLabel('Description').fill(script);
    await drawer.getByLabel('Retries after').fill('5 s, 1 min, soon');
    await drawer.getByText('Write delays with commas between them').waitFor();
    await drawer.getByLabel('Retries after').fill('5 s, 1 min, 1 h');
    await drawer.getByText('4 attempts, the last one after about 1 h:').waitFor();
    await drawer.getByText('At once, then after 5 s, 1.1 min, 1 h.').waitFor();
    await drawer.getByText('no events', { exact: true }).waitFor();
    await assertAccessible(page, 'new endpoint');
    await drawer.getByRole('button', { name: 'Create endpoint' }).click();
    await page.locator('.secret code').waitFor();
    const secret = await secretOf(page);
    assert.match(secret, /^whsec_/);
    for (const language of [
      'TypeScript',
      'Node',
      'Python',
      'Go',
      'Rust',
      'PHP',
      'Ruby',
      'Java',
      'C#',
      'Shell',
    ]) {
      await page.getByRole('button', { name: language, exact: true }).click();
      await page.locator('.verify .code').first().getByText(secret).waitFor();
    }
    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByText('Delivered: the receiver answered 200').waitFor();
    await page.getByLabel('Answer body').getByText(script).waitFor();
    assert.equal(receiver.requests.length, 1);
    await assertAccessible(page, 'endpoint created, tested');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.locator('.table-link').waitFor();
    await page.getByText(script).waitFor();
    assert.ok(!(await page.content()).includes(secret), 'the secret is gone from the page');
    assert.notEqual(await page.title(), 'run');
    const { items } = await stage.pb.send<{ items: readonly Record<string, unknown>[] }>(
      '/api/webhooks/endpoints',
      {},
    );
    const [endpoint] = items;
    assert.deepEqual(endpoint?.['events'], ['record.create', 'record.update']);
    assert.deepEqual(endpoint['schedule'], [5, 60, 3600]);
    const { id } = await stage.pb.collections.getOne('orders');
    assert.deepEqual(endpoint['collections'], [id]);
  },
);

test(
  'a test says why it failed: nobody there, too slow, a redirect, a certificate that nobody trusts',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const receiver = await Receiver.open({ mode: { kind: 'redirect', location: 'https://example.com/' } });
    const gone = await Receiver.open();
    const goneUrl = gone.url;
    await gone.close();
    const secure = createServer(makeCertificate({ names: ['hooks.example.com'] })).listen(0, '127.0.0.1');
    await once(secure, 'listening');
    t.after(() => secure.close());
    t.after(() => receiver.close());
    const make = async (url: string): Promise<string> => {
      const body = { url, timeoutMs: 1_000 };
      const { id } = await stage.pb.send<{ id: string }>('/api/webhooks/endpoints', { method: 'POST', body });
      return id;
    };
    const page = await stage.openSignedIn('webhooks');
    const send = async (id: string): Promise<string> => {
      await page.goto(`${stage.url}/_/webhooks/${id}?tab=test`);
      await page.getByRole('button', { name: 'Send test' }).click();
      const notice = page.getByRole('tabpanel').locator('.notice');
      await notice.waitFor();
      return notice.innerText();
    };
    const url = receiver.url;
    assert.match(await send(await make(url)), /Not delivered: The receiver answered with a redirect/);
    receiver.mode = { kind: 'never answers' };
    assert.match(await send(await make(`${url}/slow`)), /No complete answer within 1 s\. Respond first/);
    assert.match(await send(await make(goneUrl)), /Check that the receiver is running/);
    // A TCP server that is listening has an address of this form.
    const secureUrl = `https://127.0.0.1:${(secure.address() as AddressInfo).port}/`;
    assert.match(await send(await make(secureUrl)), /certificate/);
  },
);

test('an endpoint that has taken nothing is not called active', { skip }, async (t) => {
  // A receiver that refuses is not down: the service goes on sending, and only its figures tell.
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'status', status: 404 }], schedule: [3_600] });
  const order = await stage.addOrder();
  await stage.delivery(order, ({ attempts }) => attempts.length === 1);
  const page = await stage.openSignedIn('webhooks');
  await page.locator('.data-table').getByText('Failing').waitFor();
  // Its deliveries are not given up yet, and still somebody should look.
  await page.goto(`${stage.url}/_/overview`);
  await page.getByRole('button', { name: /^1 endpoint failing/ }).click();
  await page.getByRole('region', { name: 'Needs attention' }).getByRole('link').first().click();
  await page.getByText('Nothing was delivered in the last 24 hours: 1 attempt failed.').waitFor();
});

test('an endpoint is paused, collects, and goes on as one chooses', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}`);
  const standing = page.locator('.standing');
  await standing.getByText('Active').waitFor();
  await page.getByRole('button', { name: 'Pause …' }).click();
  await dialog(page).getByRole('button', { name: 'Pause' }).click();
  await standing.getByText('Paused by a user.').waitFor();
  await stage.addOrder();
  await page.getByRole('button', { name: 'Resume …' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Resume …' }).click();
  await dialog(page).getByText('1 delivery waits').waitFor();
  await dialog(page).getByLabel('Cancel it').check();
  await assertAccessible(page, 'resume');
  await dialog(page).getByRole('button', { name: 'Cancel 1 and resume' }).click();
  await standing.getByText('Active').waitFor();
  assert.equal(stage.receiver.requests.length, 0);
  const order = await stage.addOrder();
  await stage.delivery(order, ({ status }) => status === 'delivered');
});

test('a secret is rotated with an overlap, shown once, and signs from then on', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}?tab=settings`);
  await page.getByRole('button', { name: 'Rotate …' }).click();
  await dialog(page).getByRole('radio', { name: '1 hour' }).check();
  await dialog(page).getByRole('button', { name: 'Rotate', exact: true }).click();
  await page.locator('.secret code').waitFor();
  const secret = await secretOf(page);
  assert.notEqual(secret, stage.endpoint.secret);
  await page.getByText('the previous one signs too').waitFor();
  await page.getByRole('button', { name: 'I have it' }).click();
  assert.ok(!(await page.content()).includes(secret), 'the secret is gone from the page');
  const order = await stage.addOrder();
  await stage.delivery(order, ({ status }) => status === 'delivered');
  const [request] = stage.receiver.requests;
  assert.equal(String(request?.headers['webhook-signature']).split(' ').length, 2, 'both have signed');
});

test(
  'settings are changed, problems stand at their fields, and deleting wants the name',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
    const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}?tab=settings`);
    const form = page.getByRole('form', { name: 'Options' });
    assert.ok(await form.getByLabel('Don’t retry').isChecked());
    await form.getByText('Order, batches and limits').click();
    await form.getByLabel('Concurrent requests').fill('100');
    await form.locator('#endpoint-maxInFlight-error').waitFor();
    await form.getByLabel('Concurrent requests').fill('2');
    await form.getByText('Headers, tokens and certificates').click();
    await form.getByLabel('Headers', { exact: true }).fill('X-Shop: berlin\nAuthorization: Bearer f00d');
    await form.getByRole('radio', { name: 'By record' }).check();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').getByText('Saved.').waitFor();
    await eventually('the header is hidden', async () => !(await page.content()).includes('f00d'));
    await assertAccessible(page, 'settings');
    const saved = await stage.pb.send<Record<string, unknown>>(
      `/api/webhooks/endpoints/${stage.endpoint.id}`,
      {},
    );
    assert.equal(saved['maxInFlight'], 2);
    assert.equal(saved['order'], 'record');
    assert.deepEqual(saved['headers'], { 'x-shop': 'berlin', authorization: '********' });
    await page.getByRole('button', { name: 'Delete the endpoint …' }).click();
    const remove = dialog(page).getByRole('button', { name: 'Delete the endpoint' });
    assert.ok(await remove.isDisabled());
    await dialog(page).getByRole('textbox').fill(new URL(stage.receiver.url).host);
    await remove.click();
    await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
  },
);

test('failures are grouped by cause, and a group is sent again after its count', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing, failing, failing, ok], schedule: [] });
  await addFailures(stage, 3);
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}`);
  const group = page.locator('.group');
  await group.getByText('The receiver answered with status 500.').waitFor();
  assert.equal(await group.locator('.group-count').innerText(), '3');
  await assertAccessible(page, 'endpoint with failures');
  await group.getByRole('button', { name: 'Retry group …' }).click();
  await dialog(page).getByText('3 deliveries to').waitFor();
  assert.equal(stage.receiver.requests.length, 3, 'nothing is sent before the count was seen');
  await dialog(page).getByRole('button', { name: 'Send 3 deliveries' }).click();
  await page.getByText('No undelivered failures').waitFor();
  assert.equal(stage.receiver.requests.length, 6);
});

test('plots are equal to their tables, and both to the API', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok, failing, ok], schedule: [] });
  for (const wanted of ['delivered', 'exhausted', 'delivered']) {
    const order = await stage.addOrder();
    await stage.delivery(order, ({ status }) => status === wanted);
  }
  const path = `/api/webhooks/endpoints/${stage.endpoint.id}/stats`;
  interface Stats {
    readonly columns: Readonly<Record<string, readonly (number | null)[]>>;
  }
  await eventually('all are counted', async () => {
    const { columns } = await stage.pb.send<Stats>(path, {});
    return columns['attempts']?.reduce<number>((sum, value) => sum + (value ?? 0), 0) === 3;
  });
  const { columns } = await stage.pb.send<Stats>(path, {});
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}`);
  await page.locator('.plot-mark').first().waitFor();
  const tableOf = async (caption: string, at: number): Promise<readonly (number | null)[]> => {
    const cells = page.getByRole('table', { name: caption }).locator(`tbody tr td:nth-of-type(${at})`);
    return (await cells.allInnerTexts()).map((text) => (text === '–' ? null : Number(text)));
  };
  const marksOf = async (name: string): Promise<readonly number[]> => {
    const marks = await page.locator(`.plot-mark[data-series="${name}"]`).all();
    return Promise.all(marks.map(async (mark) => Number(await mark.getAttribute('data-value'))));
  };
  assert.deepEqual(await tableOf('Attempts', 1), columns['delivered']);
  assert.deepEqual(await tableOf('Attempts', 2), columns['failed']);
  assert.deepEqual(await tableOf('Latency of deliveries', 1), columns['latencyP50Ms']);
  assert.deepEqual(await tableOf('Latency of deliveries', 3), columns['latencyP99Ms']);
  const drawn = (values: readonly (number | null)[] = []) =>
    values.filter((value) => value !== null && value > 0);
  assert.deepEqual(await marksOf('delivered'), drawn(columns['delivered']));
  assert.deepEqual(await marksOf('failed'), drawn(columns['failed']));
  assert.deepEqual(await marksOf('p95'), drawn(columns['latencyP95Ms']));
  await page.getByRole('radio', { name: '7 days' }).click();
  await eventually('there are seven days', async () => (await tableOf('Attempts', 1)).length === 7);
  assert.equal(new URL(page.url()).searchParams.get('span'), '7d');
});

test(
  'deliveries are filtered in the address, and a long list goes on where it ended',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [failing, ok], schedule: [] });
    await addFailures(stage, 1);
    const batch = stage.pb.createBatch();
    for (let index = 0; index < 45; index += 1) batch.collection('orders').create({ number: String(index) });
    await batch.send();
    const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}?tab=deliveries`);
    const rows = page.locator('.data-table tbody tr[data-index]');
    await eventually('the end is reached', async () => {
      await rows.last().scrollIntoViewIfNeeded();
      // Those out of sight are not drawn.
      return (await rows.last().getAttribute('aria-rowindex')) === '47';
    });
    await choose(page, 'Status', 'Gave up');
    await eventually('one is left', async () => (await rows.count()) === 1);
    assert.equal(new URL(page.url()).search, '?tab=deliveries&status=exhausted');
    await page.reload();
    await rows.getByText('The receiver answered with status 500.').waitFor();
    await assertAccessible(page, 'deliveries of an endpoint');
    await rows.getByRole('link').click();
    await page.waitForURL(/\/deliveries\/\w+/);
    await page.locator('.delivery-verdict').waitFor();
  },
);

test('a replay counts first, shows how far it is, and is cancelled', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing, failing, failing, ok], schedule: [] });
  await addFailures(stage, 3);
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}`);
  await page.getByRole('button', { name: 'Replay …' }).click();
  const drawer = page.getByRole('complementary', { name: 'Replay' });
  await drawer.getByLabel('Filter').fill("state = 'paid'");
  await drawer.getByRole('button', { name: 'Count' }).click();
  await drawer.getByText('1 delivery to 1 endpoint').waitFor();
  await assertAccessible(page, 'replay');
  await drawer.getByRole('button', { name: 'Send 1 delivery' }).click();
  await drawer.getByText('Done: 1 delivery').waitFor();
  await eventually('it has arrived', () => Promise.resolve(stage.receiver.requests.length === 4));
  await drawer.getByRole('button', { name: 'Close' }).click();
  // Slowly enough to be cancelled: the second has to wait a second.
  await page.getByRole('button', { name: 'Replay …' }).click();
  await drawer.getByLabel('Everything').check();
  await drawer.getByLabel('Deliveries per second').fill('1');
  await stage.pb.send(`/api/webhooks/endpoints/${stage.endpoint.id}/pause`, { method: 'POST' });
  await drawer.getByRole('button', { name: 'Count' }).click();
  await drawer.getByText('3 deliveries to 1 endpoint, about 3 seconds').waitFor();
  await drawer.getByRole('button', { name: 'Send 3 deliveries' }).click();
  await drawer.getByText('Replaying').waitFor();
  assert.match(new URL(page.url()).searchParams.get('replay') ?? '', /^\w{15}$/);
  await drawer.getByRole('button', { name: 'Cancel the replay …' }).click();
  await dialog(page).getByRole('button', { name: 'Cancel the replay' }).click();
  await drawer.getByText('Cancelled after').waitFor();
  await page.reload();
  await drawer.getByText('Cancelled after').waitFor();
});

test('a backfill counts the records first, and shows when they are sent', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  for (const number of ['1', '2', '3']) {
    const order = await stage.addOrder({ number, state: number === '1' ? 'paid' : 'open' });
    await stage.delivery(order, ({ status }) => status === 'delivered');
  }
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}`);
  await page.getByRole('button', { name: 'Backfill …' }).click();
  const drawer = page.getByRole('complementary', { name: 'Backfill' });
  await drawer.getByRole('radio', { name: 'orders' }).check();
  await drawer.getByLabel('Filter').fill("state = 'open'");
  await drawer.getByRole('button', { name: 'Count' }).click();
  await drawer.getByText('2 deliveries to 1 endpoint').waitFor();
  await assertAccessible(page, 'backfill');
  await drawer.getByRole('button', { name: 'Send 2 records' }).click();
  await drawer.getByText('Done: 2 deliveries').waitFor();
  await eventually('they have arrived', () => Promise.resolve(stage.receiver.requests.length === 5));
  await page.reload();
  await page.getByRole('heading', { name: 'Backfill' }).waitFor();
  await page.goto(`${stage.url}/_/events?kind=backfill`);
  await page.getByText('Backfilled').first().waitFor();
});

test('the overview names endpoints that are in trouble, and leads to them', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing], schedule: [] });
  await addFailures(stage, 2);
  await stage.pb.send(`/api/webhooks/endpoints/${stage.endpoint.id}/pause`, { method: 'POST' });
  const page = await stage.openSignedIn('overview');
  await page.getByRole('button', { name: '1 endpoint paused' }).click();
  await page.getByRole('link', { name: stage.receiver.url }).waitFor();
  await page.getByRole('button', { name: '2 deliveries exhausted in the last 24 hours' }).click();
  await assertAccessible(page, 'open concerns');
  await page.getByRole('link', { name: stage.receiver.url }).first().click();
  const rows = page.locator('.data-table tbody tr[data-index]');
  await eventually('both show', async () => (await rows.count()) === 2);
  await page.goBack();
  await page.locator('.plot-mark[data-series="events"]').first().waitFor();
  await assertAccessible(page, 'overview with trouble');
});

test('on a phone nothing is wider than the screen', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing], schedule: [] });
  await addFailures(stage, 1);
  const page = await stage.openSignedIn('webhooks', { viewport: { width: 375, height: 740 } });
  const one = `webhooks/${stage.endpoint.id}`;
  const tabs = ['overview', 'deliveries', 'test', 'settings'].map((tab) => `${one}?tab=${tab}`);
  const drawers = [`${one}?replay=new`, `${one}?replay=backfill`];
  for (const path of ['overview', 'webhooks', 'webhooks?create=yes', ...tabs, ...drawers]) {
    await page.goto(`${stage.url}/_/${path}`);
    await page
      .locator(
        '.table-link, .standing, .data-table .table-link, .send-test, .settings-form, .drawer, .counts',
      )
      .first()
      .waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.ok(width <= 375, `${path} is ${width} wide`);
    await assertAccessible(page, path);
  }
});
