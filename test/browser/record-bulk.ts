/** What is done with many records: selection, a field of all, deletion, files of CSV. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { csvCells } from '../support/csv-cells.ts';
import { eventually } from '../support/eventually.ts';
import { cell, choose, rows, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;

const mark = (page: Page, row: number) => rows(page).nth(row).getByRole('checkbox');
const bar = (page: Page) => page.getByRole('region', { name: 'Selection' });

test('a range of rows gets a value at once, and its deletion tells how many', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 10);
  const page = await stage.openSignedIn('c/notes');
  await mark(page, 1).click();
  await mark(page, 4).click({ modifiers: ['Shift'] });
  await bar(page).getByText('4 records selected').waitFor();
  await assertAccessible(page, 'selection');
  await bar(page).getByRole('button', { name: 'Edit a field' }).click();
  await choose(bar(page), 'Field', 'state');
  await choose(bar(page), 'state', 'done');
  await bar(page).getByRole('button', { name: 'Change 4 records' }).click();
  await page.getByRole('status').getByText('4 records changed.').waitFor();
  const { items } = await stage.pb
    .collection('notes')
    .getList(1, 20, { filter: `state = 'done'`, sort: 'price' });
  assert.deepEqual(
    items.map((record): unknown => record.title),
    ['note 5', 'note 6', 'note 7', 'note 8'],
  );
  await mark(page, 0).click();
  await mark(page, 2).click();
  await bar(page).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete 2 records' }).click();
  await page.getByText('8 records', { exact: true }).waitFor();
});

test('all that match are changed and deleted, with the name typed first', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 300);
  const page = await stage.openSignedIn('c/notes?filter=price>=50');
  await page.getByText('250 records').waitFor();
  await mark(page, 0).click();
  await bar(page).getByRole('button', { name: 'Select all 250 matching' }).click();
  await bar(page).getByRole('button', { name: 'Delete' }).click();
  const confirm = page.getByRole('button', { name: 'Delete 250 records' });
  assert.equal(await confirm.isDisabled(), true);
  await page.getByLabel('Type notes to confirm').fill('notes');
  await confirm.click();
  await page.getByRole('status').getByText('250 records deleted.').waitFor();
  assert.equal((await stage.pb.collection('notes').getList(1, 1)).totalItems, 50);
});

test('records that cannot be changed are told one by one, and the others are', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('c/notes', { refusals: [400] });
  await cell(page, 0, 'title').waitFor();
  await page.getByLabel('Select the rows that are loaded').check();
  await bar(page).getByRole('button', { name: 'Edit a field' }).click();
  await choose(bar(page), 'Field', 'mail');
  await bar(page).getByLabel('mail', { exact: true }).fill('same@example.com');
  await bar(page).getByRole('button', { name: 'Change 3 records' }).click();
  await bar(page).getByText('mail: Value must be unique.').first().waitFor();
  assert.equal(await bar(page).locator('.problems li').count(), 2);
});

test('records go into a file of CSV and come back from it, line by line', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  await stage.pb
    .collection('notes')
    .create({ title: 'a "quoted", one\nwith two lines', price: 1, tags: ['sea', 'air'] });
  await stage.pb.collection('notes').create({ title: '=1+1', price: 2 });
  const page = await stage.openSignedIn('c/notes', { refusals: [400] });
  await page.getByText('2 records').waitFor();
  await page.getByLabel('Select the rows that are loaded').check();
  await bar(page).getByRole('button', { name: 'Export' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'CSV' }).click();
  const text = readFileSync(await (await download).path(), 'utf8');
  assert.ok(text.includes('"a ""quoted"", one\nwith two lines"'));
  assert.ok(text.includes(`'=1+1`), 'no spreadsheet runs it');
  const [head = '', ...lines] = text.split('\r\n');
  const changed = [head, ...lines.map((line) => line.replace(/^\w{15}/, ''))].join('\r\n');
  await page.getByRole('button', { name: 'Export and import' }).click();
  await page.getByRole('menuitem', { name: 'Import CSV' }).click();
  const panel = page.getByRole('dialog', { name: /^Import CSV/ });
  const file = { name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from(`${changed},,\r\n`) };
  await panel.getByLabel('CSV file').setInputFiles(file);
  assert.equal(await panel.getByLabel('Field for title').innerText(), 'title');
  await choose(panel, 'Field for title', 'Leave out');
  await choose(panel, 'Field for title', 'title');
  await assertAccessible(page, 'import');
  await panel.getByRole('button', { name: /^Import 3 records/ }).click();
  await panel.getByText('2 records imported.').waitFor();
  await panel.getByText('line 4').waitFor();
  await panel.getByText('title: Cannot be blank.').waitFor();
  const { items } = await stage.pb.collection('notes').getList(1, 9, { filter: 'price = 1', sort: '@rowid' });
  assert.equal(items.length, 2);
  assert.deepEqual([items[1]?.['title'], items[1]?.['tags']], [items[0]?.['title'], items[0]?.['tags']]);
  await page.keyboard.press('Escape');
  await eventually('the rows are there', async () => (await titles(page)).length === 4);
});

test(
  'what a spreadsheet would run is an apostrophe away from it in CSV, and itself after an import',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withNotes(stage);
    const notes = stage.pb.collection('notes');
    const metas = ['=1+1', "'=1", -1, { a: ['@x'] }];
    for (const [at, [title]] of csvCells.entries())
      await notes.create({ title, price: -at, meta: metas[at % metas.length] });
    const valuesOf = async (): Promise<readonly unknown[]> =>
      (await notes.getFullList({ sort: '-price' })).map(({ title, price, meta }) => [title, price, meta]);
    const before = await valuesOf();
    const page = await stage.openSignedIn('c/notes');
    const count = csvCells.length;
    await page.getByText(`${count} records`).waitFor();
    await page.getByRole('button', { name: 'Export and import' }).click();
    await page.getByRole('menuitem', { name: 'Export these records' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV', exact: true }).click();
    const text = readFileSync(await (await download).path(), 'utf8');
    for (const [, cell] of csvCells)
      assert.ok(text.includes(`,${cell},`) || text.includes(`"${cell}"`), cell);
    for (const { id } of await notes.getFullList()) await notes.delete(id);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Export and import' }).click();
    await page.getByRole('menuitem', { name: 'Import CSV' }).click();
    const panel = page.getByRole('dialog', { name: /^Import CSV/ });
    const file = { name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from(text) };
    await panel.getByLabel('CSV file').setInputFiles(file);
    await panel.getByRole('button', { name: `Import ${count} records` }).click();
    await panel.getByText(`${count} records imported.`).waitFor();
    assert.deepEqual(await valuesOf(), before);
  },
);

test('all matching records go into NDJSON, page by page', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 1_200);
  const page = await stage.openSignedIn('c/notes?filter=price<1100');
  await page.getByText('1,100 records').waitFor();
  await page.getByRole('button', { name: 'Export and import' }).click();
  await page.getByRole('menuitem', { name: 'Export these records' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'NDJSON' }).click();
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trim()
    .split('\n');
  assert.equal(new Set(lines.map((line) => line)).size, 1_100);
});
