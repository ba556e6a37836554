/** The record table and its drawer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { cell, choose, drawer, rows, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('a record with a field of every type is what the API has of it', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  const page = await stage.openSignedIn('c/notes?record=new');
  const form = drawer(page);
  await form.getByLabel('title').fill('First');
  await form.getByLabel('price').fill('12.5');
  await form.getByLabel('isDraft').check();
  await form.getByLabel('mail').fill('a@example.com');
  await form.getByLabel('site').fill('https://example.com/');
  await form.getByLabel('body').fill('<p>Hello</p>');
  await form.getByLabel('published').fill('2026-01-02T03:04:05');
  await choose(form, 'state', 'done');
  await form.getByRole('button', { name: 'sea' }).click();
  await form.getByRole('button', { name: 'air' }).click();
  const file = { name: 'hello.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') };
  await form.getByLabel('Files for picture').setInputFiles(file);
  await form.getByLabel('meta').fill('{"pages": [1, 2]}');
  await form.getByLabel('Longitude').fill('12.5');
  await form.getByLabel('Latitude').fill('-3');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('created').waitFor();
  const [record] = (await stage.pb.collection('notes').getList(1, 1)).items;
  assert.ok(record !== undefined);
  const { title, price, isDraft, mail, site, body, state, tags, meta, place } = record;
  assert.deepEqual(
    { title, price, isDraft, mail, site, body, state, tags, meta, place },
    {
      title: 'First',
      price: 12.5,
      isDraft: true,
      mail: 'a@example.com',
      site: 'https://example.com/',
      body: '<p>Hello</p>',
      state: 'done',
      tags: ['sea', 'air'],
      meta: { pages: [1, 2] },
      place: { lon: 12.5, lat: -3 },
    },
  );
  assert.match(String(record['picture']), /^hello_\w+\.txt$/);
  assert.equal(String(record['published']).slice(0, 10), '2026-01-02');
  await form.getByRole('tab', { name: 'JSON' }).click();
  const shown: unknown = JSON.parse(await page.locator('.json').innerText());
  assert.deepEqual(shown, JSON.parse(JSON.stringify(record)));
});

test('what the service refuses is told beside its field', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  await stage.pb.collection('notes').create({ title: 'there', mail: 'a@example.com' });
  const page = await stage.openSignedIn('c/notes?record=new', { refusals: [400] });
  const form = drawer(page);
  await form.getByLabel('mail').fill('a@example.com');
  await page.keyboard.press('Control+Enter');
  await form.getByRole('alert').getByText('Cannot be blank.').waitFor();
  assert.equal(await form.getByLabel('title').getAttribute('aria-invalid'), 'true');
  await form.getByLabel('title').fill('another');
  await page.keyboard.press('Control+Enter');
  await form.getByRole('alert').getByText('Value must be unique.').waitFor();
  assert.equal(await form.getByLabel('mail').getAttribute('aria-invalid'), 'true');
  await form.getByLabel('meta').fill('{"a": ');
  await page.keyboard.press('Control+Enter');
  await form.getByRole('alert').getByText('Invalid JSON').waitFor();
});

test('a draft is still there after a reload, and meets what others saved', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  const { id } = await stage.pb.collection('notes').create({ title: 'first' });
  const page = await stage.openSignedIn(`c/notes?record=${id}`);
  await drawer(page).getByLabel('title').fill('mine');
  await page.reload();
  assert.equal(await drawer(page).getByLabel('title').inputValue(), 'mine');
  await stage.pb.collection('notes').update(id, { title: 'theirs' });
  await page.keyboard.press('Control+Enter');
  await drawer(page).getByText('Someone else changed this record.').waitFor();
  const version = page.locator('.version');
  assert.deepEqual(await version.locator('dd').allInnerTexts(), ['mine', 'theirs']);
  await drawer(page).getByRole('button', { name: 'Keep mine' }).click();
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  assert.equal((await stage.pb.collection('notes').getOne(id))['title'], 'mine');
});

test('a draft is saved beside what others have saved in other fields', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  const notes = stage.pb.collection('notes');
  const { id } = await notes.create({ title: 'first', price: 1, mail: 'a@example.com' });
  const page = await stage.openSignedIn(`c/notes?record=${id}`);
  const read = async (): Promise<readonly unknown[]> => {
    const { title, price, mail } = await notes.getOne(id);
    return [title, price, mail];
  };
  await drawer(page).getByLabel('title').fill('mine');
  await notes.update(id, { price: 2 });
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  assert.deepEqual(await read(), ['mine', 2, 'a@example.com']);
  // Giving up the one that both have changed keeps the other.
  await drawer(page).getByLabel('title').fill('mine again');
  await drawer(page).getByLabel('mail').fill('mine@example.com');
  await page.reload();
  await notes.update(id, { title: 'theirs', price: 3 });
  await drawer(page).getByText('2 changes, not saved').waitFor();
  await page.keyboard.press('Control+Enter');
  await drawer(page).getByText('Someone else changed this record.').waitFor();
  assert.deepEqual(await page.locator('.version-name').allInnerTexts(), ['title']);
  await drawer(page).getByRole('button', { name: 'Use the saved version' }).click();
  await drawer(page).getByText('1 change, not saved').waitFor();
  assert.equal(await drawer(page).getByLabel('title').inputValue(), 'theirs');
  await page.keyboard.press('Control+Enter');
  await drawer(page).getByText('not saved').waitFor({ state: 'detached' });
  assert.deepEqual(await read(), ['theirs', 3, 'mine@example.com']);
});

test('a word searches, an expression selects, and an error has its place', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 20);
  const page = await stage.openSignedIn('c/notes', { refusals: [400] });
  const filter = page.getByLabel('Filter notes');
  await filter.fill('note 19');
  await page.getByText('1 record', { exact: true }).waitFor();
  assert.deepEqual(await titles(page), ['note 19']);
  await filter.fill('price >= 15');
  await page.keyboard.press('Enter');
  await page.getByText('5 records').waitFor();
  await filter.fill('price >>= 15');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('at position 6').waitFor();
  assert.equal(await page.locator('.filter-caret').innerText(), `${' '.repeat(6)}▲`);
  await page.reload();
  await page.getByRole('alert').waitFor();
});

test('headers sort, Back takes it back, and columns stay as they were laid out', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 20);
  const page = await stage.openSignedIn('c/notes');
  await cell(page, 0, 'title').waitFor();
  assert.equal((await titles(page))[0], 'note 19');
  await page.getByRole('columnheader', { name: 'price' }).getByRole('button').click();
  await eventually('it ascends', async () => (await titles(page))[0] === 'note 0');
  await page
    .getByRole('columnheader', { name: 'title' })
    .getByRole('button')
    .click({ modifiers: ['Shift'] });
  assert.equal(new URL(page.url()).searchParams.get('sort'), 'price,title');
  await page.goBack();
  await page.goBack();
  await eventually('it is as before', async () => (await titles(page))[0] === 'note 19');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'id', exact: true }).uncheck();
  await page.getByRole('button', { name: 'Move price up' }).click();
  const headers = async () => page.locator('.head-cell').allInnerTexts();
  assert.deepEqual((await headers()).slice(0, 2), ['price', 'title']);
  await page.reload();
  await cell(page, 0, 'title').waitFor();
  assert.deepEqual((await headers()).slice(0, 2), ['price', 'title']);
});

test('new rows wait until somebody wants them, and others change in their place', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('c/notes');
  await cell(page, 0, 'title').waitFor();
  // Realtime may still be on its way: a record is made until one is told.
  await eventually('a new row is told', async () => {
    await stage.pb.collection('notes').create({ title: 'new' });
    return page.getByRole('button', { name: /new$/ }).isVisible();
  });
  assert.equal((await titles(page))[0], 'note 2');
  const first = await stage.pb.collection('notes').getFirstListItem('title = "note 1"');
  await stage.pb.collection('notes').update(first.id, { title: 'changed' });
  await eventually('the change shows', async () => (await titles(page))[1] === 'changed');
  await stage.pb.collection('notes').delete(first.id);
  await page.locator('.row[data-gone]').waitFor();
  await page.getByRole('button', { name: /new$/ }).click();
  await eventually('they show', async () => (await titles(page))[0] === 'new');
});

test('a table of 10,000 records is gone through without a stop, by keys alone', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 10_000);
  const page = await stage.openSignedIn('c/notes');
  await page.getByText('10,000 records').waitFor();
  await page.evaluate(`window.longest = 0; new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  }).observe({ type: 'longtask' });`);
  await page.getByRole('grid').focus();
  await eventually('the last one is reached', async () => {
    await page.keyboard.press('End');
    return (await titles(page)).includes('note 0');
  });
  assert.ok((await rows(page).count()) < 80, 'only rows in sight are in the page');
  await page.keyboard.press('Enter');
  await drawer(page).getByLabel('title').waitFor();
  assert.equal(await drawer(page).getByLabel('title').inputValue(), 'note 0');
  await page.keyboard.press('Escape');
  await drawer(page).waitFor({ state: 'detached' });
  t.diagnostic(`the longest task took ${await page.evaluate<number>('window.longest')} ms`);
});
