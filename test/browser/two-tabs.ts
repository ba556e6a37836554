/** Two tabs of one session, and a service that goes away below them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { account, type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { stopBelow } from '../support/outage.ts';
import { cell, drawer, withNotes } from './note-table.ts';

const skip = withoutChromium;

async function openTabs(stage: BrowserStage, path: string): Promise<readonly [Page, Page]> {
  const one = await stage.openSignedIn(path);
  await cell(one, 0, 'title').waitFor();
  const other = await one.context().newPage();
  await other.goto(`${stage.url}/_/${path}`);
  await cell(other, 0, 'title').waitFor();
  return [one, other];
}

/** Changes the price of a record by the API until a page shows it: realtime may still be on its way. */
async function untilLive(stage: BrowserStage, page: Page, id: string): Promise<void> {
  let price = 1_000;
  await eventually('realtime is there', async () => {
    price += 1;
    await stage.pb.collection('notes').update(id, { price });
    await page.waitForTimeout(50);
    return (await cell(page, 0, 'price').innerText()) === String(price);
  });
}

/** Waits until pages with an open record hear of its changes and their drawers have its last revision. */
async function untilDrawersLive(stage: BrowserStage, pages: readonly Page[], id: string): Promise<void> {
  for (const page of pages) await untilLive(stage, page, id);
  const { price } = await stage.pb.collection('notes').getOne<{ readonly price: number }>(id);
  for (const page of pages) {
    const shown = drawer(page).getByLabel('price');
    await eventually('the drawer is current', async () => (await shown.inputValue()) === String(price));
  }
}

test('what one tab saves shows in the table and the drawer of the other', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const { id } = await stage.pb.collection('notes').getFirstListItem('title = "note 1"');
  const [one, other] = await openTabs(stage, `c/notes?record=${id}`);
  await untilDrawersLive(stage, [one, other], id);
  await drawer(one).getByLabel('title').fill('saved here');
  await one.keyboard.press('Control+Enter');
  await cell(other, 0, 'title').getByText('saved here').waitFor();
  const title = drawer(other).getByLabel('title');
  await eventually('the drawer follows', async () => (await title.inputValue()) === 'saved here');
  await cell(other, 0, 'title').dblclick();
  await other
    .getByRole('dialog', { name: /^title of/ })
    .getByLabel('title')
    .fill('and back');
  await other.keyboard.press('Control+Enter');
  await cell(one, 0, 'title').getByText('and back').waitFor();
  const back = drawer(one).getByLabel('title');
  await eventually('the drawer follows', async () => (await back.inputValue()) === 'and back');
});

test('a draft in one tab is not lost, and does not overwrite what the other saves', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const notes = stage.pb.collection('notes');
  const { id } = await notes.getFirstListItem('title = "note 1"');
  const [one, other] = await openTabs(stage, `c/notes?record=${id}`);
  await untilDrawersLive(stage, [one, other], id);
  await drawer(one).getByLabel('title').fill('mine');
  await drawer(other).getByLabel('title').fill('theirs');
  await other.keyboard.press('Control+Enter');
  await cell(one, 0, 'title').getByText('theirs').waitFor();
  assert.equal(await drawer(one).getByLabel('title').inputValue(), 'mine');
  // The other tab has saved its draft and kept no other: that takes nothing from this one.
  await one.reload();
  await cell(one, 0, 'title').getByText('theirs').waitFor();
  assert.equal(await drawer(one).getByLabel('title').inputValue(), 'mine');
  await one.keyboard.press('Control+Enter');
  await drawer(one).getByText('Someone else changed this record.').waitFor();
  assert.deepEqual(await one.locator('.version dd').allInnerTexts(), ['mine', 'theirs']);
  assert.equal((await notes.getOne(id))['title'], 'theirs');
  await drawer(one).getByRole('button', { name: 'Use the saved version' }).click();
  await eventually(
    'the saved version shows',
    async () => (await drawer(one).getByLabel('title').inputValue()) === 'theirs',
  );
});

test('a tab uses the token that another has renewed, and signs out with it', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const [one, other] = await openTabs(stage, 'c/notes');
  const before = stage.pb.authStore.token;
  await eventually('another token', async () => {
    await stage.pb.collection('_superusers').authRefresh();
    return stage.pb.authStore.token !== before;
  });
  const { token, record } = stage.pb.authStore;
  const session = JSON.stringify(JSON.stringify({ token, record }));
  await one.evaluate(`localStorage.setItem('chancery:/_/:session', ${session})`);
  const request = other.waitForRequest((sent) => sent.url().includes('/records?'));
  await other.getByLabel('Filter notes').fill('price > 0');
  await other.keyboard.press('Enter');
  assert.equal((await request).headers()['authorization'], token);
  await one.getByRole('button', { name: account.email }).click();
  await one.getByRole('menuitem', { name: 'Sign out' }).click();
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(await other.getByText('note 1').count(), 0);
  await other.getByLabel('Email').fill(account.email);
  await other.getByLabel('Password', { exact: true }).fill(account.password);
  await other.keyboard.press('Enter');
  await cell(other, 0, 'title').waitFor();
  assert.equal(new URL(other.url()).searchParams.get('filter'), 'price > 0');
});

/** Counts how often a page asks whether the service is there. */
function watchBeats(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (request.method() === 'HEAD') count += 1;
  });
  return () => count;
}

test('a page with realtime does not ask whether the service is there', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 1);
  const page = await stage.openSignedIn('c/notes');
  const { id } = await stage.pb.collection('notes').getFirstListItem('title = "note 0"');
  await cell(page, 0, 'title').waitFor();
  await untilLive(stage, page, id);
  const beats = watchBeats(page);
  // Three times what lies between two questions.
  await page.waitForTimeout(4_500);
  assert.ok(beats() <= 1, `${beats()} questions`);
  await page.getByRole('link', { name: 'Overview' }).click();
  await eventually('without realtime, it asks', () => beats() >= 2);
});

test(
  'a service that restarts below a form and a table is reported, and nothing is lost',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withNotes(stage, 2);
    const { id } = await stage.pb.collection('notes').getFirstListItem('title = "note 1"');
    const page = await stage.openSignedIn('c/notes', { hasOutage: true });
    await cell(page, 0, 'title').waitFor();
    await untilLive(stage, page, id);
    await page.getByRole('button', { name: 'New record' }).click();
    const form = drawer(page);
    await form.getByLabel('title').fill('unsaved');
    const start = await stopBelow(t, stage, page);
    await start();
    assert.equal(await form.getByLabel('title').inputValue(), 'unsaved');
    // Changed while nobody listened, and afterwards.
    await untilLive(stage, page, id);
    await form.getByLabel('title').press('Control+Enter');
    await page.getByRole('status').getByText('created').waitFor();
    await stage.pb.collection('notes').getFirstListItem('title = "unsaved"');
  },
);
