/** Undo: edits and deletions of this session, one by one or many at once, where nobody has changed the records since. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { cell, choose, drawer, handle, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('edits are undone one after the other, but not over what others have saved', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const notes = stage.pb.collection('notes');
  const page = await stage.openSignedIn('c/notes', { refusals: [412] });
  const toast = page.locator('.toast');
  const editor = page.locator('.cell-editor');
  const write = async (row: number, field: string, text: string) => {
    await cell(page, row, field).click();
    await page.keyboard.type(text);
    await editor.waitFor();
    await page.keyboard.press('Control+Enter');
    await editor.waitFor({ state: 'detached' });
  };
  await write(0, 'title', 'first');
  await write(0, 'title', 'second');
  await write(0, 'price', '7');
  await toast.getByRole('button', { name: 'Undo' }).waitFor();
  await assertAccessible(page, 'toast with Undo');
  const { id } = await notes.getFirstListItem('title = "second"');
  const stored = async () => {
    const { title, price } = await notes.getOne(id);
    return `${String(title)} ${String(price)}`;
  };
  await toast.getByRole('button', { name: 'Undo' }).click();
  await eventually('the price is back', async () => (await stored()) === 'second 1');
  await cell(page, 0, 'price').getByText('1', { exact: true }).waitFor();
  await page.keyboard.press('Control+z');
  await eventually('the title before', async () => (await stored()) === 'first 1');
  await page.keyboard.press('Control+z');
  await eventually('the first title', async () => (await stored()) === 'note 1 1');
  await page.keyboard.press('Control+z');
  await toast.getByText('Nothing to undo.').waitFor();
  // The drawer saves with an undo, too.
  await handle(page, 0).click();
  await drawer(page).getByLabel('title').fill('third');
  await page.keyboard.press('Control+Enter');
  await eventually('it is saved', async () => (await stored()) === 'third 1');
  await notes.update(id, { price: 50 });
  await toast.getByRole('button', { name: 'Undo' }).click();
  await toast.getByText('Not undone. The record has changed since.').waitFor();
  assert.equal(await stored(), 'third 50');
});

test('a deleted record is restored with its id, and what is lost is named', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 1);
  const notes = stage.pb.collection('notes');
  const picture = new File([new Uint8Array(10)], 'a.bin');
  const { id } = await notes.create({ title: 'dear', price: 3, tags: ['sea'], picture });
  const page = await stage.openSignedIn(`c/notes?record=${id}`);
  await drawer(page).getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Delete …' }).click();
  await page.getByRole('button', { name: 'Delete the record' }).click();
  await eventually('it is gone', async () => (await titles(page)).join() === 'note 0');
  await page.keyboard.press('Control+z');
  await eventually('it is there again', async () => (await titles(page)).join() === 'dear,note 0');
  await page.locator('.toast').getByText(`${id} restored. Not brought back: picture.`).waitFor();
  const { title, price, tags } = await notes.getOne(id);
  assert.deepEqual([title, price, tags], ['dear', 3, ['sea']]);
});

test('a bulk edit and a bulk deletion are each undone as one', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 120);
  const notes = stage.pb.collection('notes');
  const page = await stage.openSignedIn('c/notes');
  const count = async (filter: string) => (await notes.getList(1, 1, { filter })).totalItems;
  const selectAll = async () => {
    // All of them are loaded at some time, and then nothing is left to be selected beyond.
    await page.getByText('120 records', { exact: true }).waitFor();
    await cell(page, 0, 'title').click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: 'Select all 120 matching' }).click();
  };
  await cell(page, 0, 'title').waitFor();
  await selectAll();
  await page.getByRole('button', { name: 'Edit a field' }).click();
  await choose(page, 'Field', 'price');
  await page.getByRole('textbox', { name: 'price' }).fill('5');
  await page.getByRole('button', { name: 'Change 120 records' }).click();
  await page.locator('.toast').getByText('120 records changed.').waitFor();
  const changed = await notes.getFirstListItem('title = "note 3"');
  await notes.update(changed.id, { price: 1000 });
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
  await page
    .locator('.toast')
    .getByText('119 records changed back. 1 record changed since, left as is.')
    .waitFor();
  assert.equal(await count('price = 5'), 1);
  assert.equal((await notes.getOne(changed.id))['price'], 1000);
  await selectAll();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('notes');
  await page.getByRole('button', { name: 'Delete 120 records' }).click();
  await page.locator('.toast').getByText('120 records deleted.').waitFor();
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
  await page.locator('.toast').getByText('120 records restored.').waitFor();
  assert.equal(await count('price = 1000'), 1);
  assert.equal(await count(''), 120);
});
