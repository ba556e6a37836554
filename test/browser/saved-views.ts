/** The saved views of a table: a filter, an order and columns under a name. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { cell, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;
const permissions = ['clipboard-read', 'clipboard-write'];

async function saveAs(page: Page, name: string): Promise<void> {
  await page.getByLabel('Name of this view').fill(name);
  await page.getByRole('button', { name: 'Save view' }).click();
}

test('a saved view is opened, shared, renamed and deleted', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 5);
  const page = await stage.openSignedIn('c/notes?filter=price>=2&sort=-price&columns=title,-state', {
    permissions,
  });
  const menu = page.getByRole('button', { name: 'Saved views' });
  const names = async () => page.getByRole('list', { name: 'Views' }).getByRole('link').allInnerTexts();
  await page.getByText('3 records').waitFor();
  await menu.click();
  await saveAs(page, 'Dear');
  await page.getByRole('link', { name: 'Dear' }).waitFor();
  await page.getByText('Saved in this browser.').waitFor();
  await saveAs(page, 'Dear');
  await page.getByRole('alert').getByText('There is already a view Dear.').waitFor();
  await assertAccessible(page, 'saved views');
  await page.getByRole('button', { name: 'Copy link to Dear' }).click();
  const copied = async () => page.evaluate<string>('navigator.clipboard.readText()');
  await eventually('the link is copied', async () => (await copied()).startsWith(stage.url));
  const { searchParams } = new URL(await copied());
  assert.equal(searchParams.get('filter'), 'price>=2');
  assert.equal(searchParams.get('sort'), '-price');
  assert.match(searchParams.get('columns') ?? '', /^title,-state,/);
  await page.goto(`${stage.url}/_/c/notes?columns=title,state`);
  await page.getByText('5 records').waitFor();
  await menu.click();
  await page.getByRole('link', { name: 'Dear' }).click();
  await page.getByText('3 records').waitFor();
  assert.deepEqual(await titles(page), ['note 4', 'note 3', 'note 2']);
  assert.equal(await page.getByRole('columnheader', { name: 'state' }).count(), 0);
  await menu.click();
  await page.getByLabel('Shown now').waitFor();
  await page.getByRole('button', { name: 'Rename Dear' }).click();
  await page.getByLabel('New name').fill('Costly');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await eventually('it has the new name', async () => (await names()).join() === 'Costly');
  await page.reload();
  await cell(page, 0, 'title').waitFor();
  await menu.click();
  await page.getByRole('button', { name: 'Delete Costly' }).click();
  await page.getByRole('link', { name: 'Costly' }).waitFor({ state: 'detached' });
});

test('at most 50 views are saved, and a full storage is reported', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 1);
  const { id } = await stage.pb.collections.getOne('notes');
  const views = Array.from({ length: 50 }, (_, index) => ({
    name: `view ${index}`,
    filter: '',
    sort: '',
    columns: 'title',
  }));
  const key = JSON.stringify(`chancery:/_/:views:${id}`);
  const page = await stage.openSignedIn('c/notes');
  await page.evaluate(
    `localStorage.setItem(${key}, ${JSON.stringify(JSON.stringify([...views, { name: 1 }]))})`,
  );
  await page.reload();
  await cell(page, 0, 'title').waitFor();
  await page.getByRole('button', { name: 'Saved views' }).click();
  await saveAs(page, 'one more');
  await page.getByText('At most 50 views can be saved. Delete one first.').waitFor();
  await page.getByRole('button', { name: 'Delete view 7', exact: true }).click();
  await page.getByRole('link', { name: 'view 7', exact: true }).waitFor({ state: 'detached' });
  await page.evaluate(`Storage.prototype.setItem = () => { throw new Error('full'); }`);
  await saveAs(page, 'one more');
  await page.getByText('The browser did not save this').waitFor();
});
