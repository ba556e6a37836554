import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { Receiver } from '../support/receiver.ts';
import { listOf } from '../support/webhook-service.ts';

const skip = withoutChromium;

test(
  'a filter is tried on what has happened, and saved with the name and the payload',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const receiver = await Receiver.open();
    t.after(() => receiver.close());
    const fields = [{ name: 'state', type: 'text' }];
    await stage.pb.collections.create({ name: 'orders', type: 'base', fields });
    const orders = stage.pb.collection('orders');
    const { id } = await orders.create({ state: 'new' });
    await orders.update(id, { state: 'paid' });
    const page = await stage.openSignedIn('webhooks');
    await page.getByRole('heading', { name: 'No endpoints yet' }).waitFor();
    await page.keyboard.press('c');
    const drawer = page.getByRole('complementary', { name: 'New endpoint' });
    await drawer.getByLabel('URL').fill(receiver.url);
    await drawer.getByRole('button', { name: 'orders' }).click();
    await drawer.getByLabel('Filter').fill("stat = 'paid'");
    await drawer.getByText('Unknown field "stat" at position 0.').waitFor();
    await drawer.getByLabel('Filter').fill("state:changed = true && state = 'paid'");
    await drawer.getByText('Matches 1 of 2 changes in the last 24 hours.').waitFor();
    await drawer.getByText(/less than one event a day, by the last week/).waitFor();
    await drawer.getByLabel('Filter').fill("state = 'Paid'");
    await drawer.getByText('Matches none of 2 changes in the last 24 hours.').waitFor();
    await drawer.getByText('no events', { exact: true }).waitFor();
    await assertAccessible(page, 'filter without a match');
    await drawer.getByLabel('Filter').fill("state:changed = true && state = 'paid'");
    await drawer.getByText('Name, owner and contact').click();
    await drawer.getByLabel('Name', { exact: true }).fill('shop');
    await drawer.getByText('Payload and exact copies').click();
    await drawer.getByRole('radio', { name: 'Previous' }).check();
    await assertAccessible(page, 'new endpoint with a filter');
    await drawer.getByRole('button', { name: 'Create endpoint' }).click();
    await page.locator('.secret code').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await orders.update(id, { state: 'sent' });
    await orders.update(id, { state: 'paid' });
    const [request] = await receiver.waitForRequests(1);
    assert.deepEqual(JSON.parse(String(request?.body)).previous, { state: 'sent' });
    await page.locator('.table-main').getByText('shop').waitFor();
    // What the form does not show in a line stays as it is when another member is changed.
    await page.locator('.table-link').click();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByLabel('Description').fill('all that is paid');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').getByText('Saved.').waitFor();
    const { items } = await stage.pb.send<{ items: readonly Record<string, unknown>[] }>(
      '/api/webhooks/endpoints',
      {},
    );
    const { name, filter, payload, description } = items[0] ?? {};
    assert.deepEqual(
      [name, filter, payload, description],
      ['shop', "state:changed = true && state = 'paid'", 'previous', 'all that is paid'],
    );
  },
);

test('a test has a record as the receiver would get it, and nobody else is told', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const receiver = await Receiver.open();
  t.after(() => receiver.close());
  await stage.pb.collections.create({
    name: 'orders',
    type: 'base',
    fields: [{ name: 'state', type: 'text' }],
  });
  const { id } = await stage.pb.collection('orders').create({ state: 'new' });
  const body = { url: receiver.url, collections: ['orders'], fields: ['state'] };
  const endpoint = await stage.pb.send<{ id: string }>('/api/webhooks/endpoints', { method: 'POST', body });
  const page = await stage.openSignedIn(`webhooks/${endpoint.id}?tab=test`, { refusals: [400] });
  await page.getByRole('radio', { name: 'record.update' }).check();
  assert.ok(await page.getByRole('button', { name: 'Send test' }).isDisabled());
  await page.getByLabel('Record', { exact: true }).fill('absent000000000');
  await page.getByRole('button', { name: 'Send test' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Record', { exact: true }).fill(id);
  await page.getByRole('button', { name: 'Send test' }).click();
  await page.getByText('Delivered: the receiver answered 200').waitFor();
  await assertAccessible(page, 'test with a record');
  const [request] = receiver.requests;
  const { event, data } = JSON.parse(String(request?.body));
  assert.deepEqual(
    [event, data, request?.headers['x-service-test']],
    ['record.update', { id, state: 'new' }, 'true'],
  );
});

test('endpoints as code are shown, planned and applied', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const receiver = await Receiver.open();
  t.after(() => receiver.close());
  for (const name of ['shop', 'old'])
    await stage.pb.send('/api/webhooks/endpoints', { method: 'POST', body: { url: receiver.url, name } });
  const page = await stage.openSignedIn('webhooks');
  await page.getByRole('button', { name: 'As code' }).click();
  const drawer = page.getByRole('complementary', { name: 'Endpoints as code' });
  const file = drawer.getByRole('textbox', { name: 'File' });
  const { endpoints } = JSON.parse(await file.inputValue());
  assert.deepEqual(
    listOf(endpoints).map(({ name }) => name),
    ['old', 'shop'],
  );
  await assertAccessible(page, 'endpoints as code');
  await file.fill('{');
  await drawer.getByRole('button', { name: 'Review changes' }).click();
  await drawer.getByText('Invalid JSON.').waitFor();
  const [, shop] = endpoints;
  const wanted = [
    { ...shop, description: 'all orders' },
    { name: 'new', url: receiver.url },
  ];
  await file.fill(JSON.stringify({ endpoints: wanted }));
  await drawer.getByLabel('Delete endpoints with names that are not in the file').check();
  await drawer.getByRole('button', { name: 'Review changes' }).click();
  for (const line of ['new would be created.', 'shop would get a new description.', 'old would be deleted'])
    await drawer.getByText(line).waitFor();
  await drawer.getByRole('button', { name: 'Apply' }).click();
  await drawer.getByText('1 made, 1 changed, 1 deleted.').waitFor();
  assert.match(await drawer.getByRole('textbox', { name: 'Secret of new' }).inputValue(), /^whsec_/);
  await drawer.getByRole('button', { name: 'Done' }).click();
  const { items } = await stage.pb.send<{ items: readonly { name: string }[] }>(
    '/api/webhooks/endpoints',
    {},
  );
  assert.deepEqual(
    items.map(({ name }) => name),
    ['shop', 'new'],
  );
});
