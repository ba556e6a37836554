/** A record's own story, and what it is connected with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;
const failing = { kind: 'status', status: 500 } as const;
const ok = { kind: 'ok' } as const;
const hour = 3_600;

test('a story tells what changed, who was told, and mends what did not arrive', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok, failing, ok], schedule: [] });
  const order = await stage.addOrder();
  await stage.delivery(order, ({ status }) => status === 'delivered');
  await stage.pb.collection('orders').update(order, { state: 'paid' });
  await stage.delivery(order, ({ status }) => status === 'exhausted');
  const page = await stage.openSignedIn(`c/orders?record=${order}&view=story`);
  const story = page.getByRole('complementary');
  await story.getByText('1 of 2 deliveries did not arrive.').waitFor();
  const events = story.locator('.story-event');
  assert.deepEqual(await events.locator('h3').allInnerTexts(), ['Updated', 'Created']);
  await events.first().locator('del').getByText('open').waitFor();
  await events.first().locator('ins').getByText('paid').waitFor();
  assert.equal(await events.first().locator('dt').count(), 1, 'what counts by itself is left out');
  await events.first().getByText('Gave up').waitFor();
  await events.last().getByText('1001').waitFor();
  const delivered = events.last().getByText('1 delivered');
  assert.equal(
    await events.last().getByText('Delivered', { exact: true }).isVisible(),
    false,
    'it is folded',
  );
  await delivered.click();
  await events.last().getByText('Delivered', { exact: true }).waitFor();
  await assertAccessible(page, 'story');
  await events.first().getByRole('button', { name: 'Resend …' }).click();
  await page.getByText('1 delivery to 1 endpoint').waitFor();
  await page.getByRole('button', { name: 'Send 1 delivery', exact: true }).click();
  await story.getByText('All 2 deliveries arrived.').waitFor();
});

test('two revisions stand side by side as text', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const { pb } = stage;
  const markup = '<img src=x onerror=alert(1)>';
  const order = await stage.addOrder();
  await pb.collection('orders').update(order, { state: markup });
  await pb.collection('orders').update(order, { number: '2002' });
  const page = await stage.openSignedIn(`c/orders?record=${order}&view=story`);
  await page.getByRole('button', { name: 'Compare revisions' }).click();
  const revisions = page.getByRole('region', { name: 'Compare revisions' });
  const changed = async () => revisions.getByRole('row').filter({ hasText: 'Changed' }).allInnerTexts();
  const lineOf = (name: string) =>
    revisions.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
  await lineOf('number').getByText('2002').waitFor();
  assert.ok((await changed()).some((text) => text.startsWith('number')));
  assert.ok(!(await changed()).some((text) => text.startsWith('state')), 'equal fields have no mark');
  await assertAccessible(page, 'revisions');
  const openChoices = async (label: string) => {
    await revisions.getByRole('button', { name: `${label}: ` }).click();
    return page.getByRole('option');
  };
  await (await openChoices('Before')).nth(2).click();
  await lineOf('state').getByText(markup).waitFor();
  assert.ok((await changed()).some((text) => text.startsWith('state')));
  assert.equal(await revisions.locator('img').count(), 0);
  await revisions.getByLabel('Only the').check();
  assert.equal(await lineOf('id').count(), 0);
  await (await openChoices('After')).nth(1).click();
  assert.equal(await lineOf('number').count(), 0, 'the choice of fields stays');
  await pb.collection('orders').update(order, { number: '3003' });
  const choices = await openChoices('After');
  await eventually('a new revision can be chosen', async () => (await choices.count()) === 4);
});

test('a deleted record has its story still', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const order = await stage.addOrder();
  await stage.pb.collection('orders').delete(order);
  const page = await stage.openSignedIn(`c/orders?record=${order}&view=story`, { refusals: [404] });
  const story = page.getByRole('complementary');
  await story.getByText('The record is gone.').waitFor();
  await story.getByText('All 2 deliveries arrived.').waitFor();
});

test('a story says why an endpoint was not sent an event', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const { pb, receiver } = stage;
  await pb.collections.create({ name: 'notes', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  const { id } = await pb.collection('notes').create({ title: 'one' });
  const page = await stage.openSignedIn(`c/notes?record=${id}&view=story`);
  const story = page.getByRole('complementary');
  await story.getByText('No change of this record was sent.').waitFor();
  const line = story.getByRole('listitem').filter({ hasText: receiver.url });
  await line.getByText('Not subscribed to notes').waitFor();
  await pb.send('/api/webhooks/endpoints', {
    method: 'POST',
    body: { url: receiver.urlAt('127.0.0.1', '/late') },
  });
  await page.reload();
  await story
    .getByRole('listitem')
    .filter({ hasText: '/late' })
    .getByText('Created after this event')
    .last()
    .waitFor();
  // What happens while one looks shows by itself.
  await eventually('the change shows', async () => {
    await pb.collection('notes').update(id, { title: 'two' });
    return (await story.locator('.story-event').count()) > 1;
  });
});

test('a paused endpoint and a receiver that is away are told as the reason to wait', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [failing], schedule: Array<number>(10).fill(hour) });
  const { pb, endpoint } = stage;
  const order = await stage.addOrder();
  await stage.delivery(order, ({ attempts }) => attempts.length === 1);
  const page = await stage.openSignedIn(`c/orders?record=${order}&view=story`);
  const story = page.getByRole('complementary');
  await story.getByText('Retrying').waitFor();
  await story.getByText(/next try in/).waitFor();
  await pb.send(`/api/webhooks/endpoints/${endpoint.id}/pause`, { method: 'POST' });
  await page.reload();
  await story.getByText('Waiting: endpoint paused').waitFor();
  await pb.send(`/api/webhooks/endpoints/${endpoint.id}/resume`, { method: 'POST' });
  for (let number = 0; number < 5; number += 1) await stage.addOrder({ number: String(number) });
  await eventually('the endpoint counts as away', async () => {
    const { items } = await pb.send<{ items: readonly { state: string }[] }>('/api/webhooks/lanes', {});
    return items.some(({ state }) => state === 'open');
  });
  await page.reload();
  await story.getByText('Waiting: endpoint down').waitFor();
});

test('relations lead to the records that this one names, and to those that name it', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [ok], schedule: [] });
  const { pb } = stage;
  const { id: collectionId } = await pb.collections.getOne('orders');
  await pb.collections.create({
    name: 'parcels',
    type: 'base',
    fields: [
      { name: 'label', type: 'text', presentable: true },
      { name: 'order', type: 'relation', collectionId, maxSelect: 1 },
      { name: 'others', type: 'relation', collectionId, maxSelect: 5 },
    ],
  });
  const order = await stage.addOrder();
  const other = await stage.addOrder({ number: '1002' });
  const parcel = await pb.collection('parcels').create({ label: 'A', order, others: [order, other] });
  await pb.collection('parcels').create({ label: 'B', order, others: [other] });
  const page = await stage.openSignedIn(`c/orders?record=${order}&view=relations`);
  const drawer = page.getByRole('complementary');
  await drawer.getByText('This record has no relations.').waitFor();
  const byOrder = drawer.getByRole('link', { name: 'parcels by order 2' });
  await byOrder.waitFor();
  await drawer.getByRole('link', { name: 'parcels by others 1' }).waitFor();
  await assertAccessible(page, 'relations');
  await byOrder.click();
  await page.getByText('2 records').waitFor();
  await page.goto(`${stage.url}/_/c/parcels?record=${parcel.id}&view=relations`);
  await drawer.getByText('2 records').waitFor();
  await drawer.getByRole('link', { name: '1002' }).click();
  assert.equal(new URL(page.url()).searchParams.get('record'), other);
});
