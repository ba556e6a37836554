/** The summary of a column: what its values are over all records, to find those that are wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { cell, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('the summary of a column leads to its extreme, empty and frequent values', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 60);
  const notes = stage.pb.collection('notes');
  for (const price of [-7, 3, 3])
    await notes.create({ title: "it's odd", price, state: 'done', tags: ['sea'] });
  const page = await stage.openSignedIn('c/notes');
  const requests: string[] = [];
  const summary = page.getByRole('dialog', { name: /^Summary of/ });
  const open = async (field: string) => {
    await page.locator('.head-cell', { hasText: field }).click({ button: 'right' });
    await summary.getByRole('list', { name: 'Most frequent values' }).waitFor();
  };
  const lines = async (name: string) =>
    (await summary.getByRole('list', { name }).getByRole('listitem').allInnerTexts()).map((text) =>
      text.replaceAll('\n', ' '),
    );
  await cell(page, 0, 'title').waitFor();
  page.on('request', (request) => requests.push(request.url()));
  await open('price');
  assert.equal(requests.filter((url) => url.includes('/api/')).length, 2);
  await summary.getByText('63 records, 61 different values').waitFor();
  assert.deepEqual(await lines('Ends and empty values'), ['Empty 1', 'Min -7', 'Max 59']);
  assert.equal((await lines('Most frequent values'))[0], '3 3');
  await assertAccessible(page, 'summary of a column');
  await summary.getByRole('button', { name: 'Min -7' }).click();
  await page.getByText('1 record', { exact: true }).waitFor();
  assert.deepEqual(await titles(page), ["it's odd"]);
  // By keys, from the menu of a cell.
  await cell(page, 0, 'title').click();
  await page.keyboard.press('ContextMenu');
  await page.getByRole('menuitem', { name: 'Summary of title' }).click();
  await summary.getByRole('button', { name: "it's odd 3" }).click();
  await page.getByText('3 records', { exact: true }).waitFor();
  // A value of each type leads to the records that have it.
  for (const [field, label, count] of [
    ['state', 'done', 3],
    ['tags', '["sea"]', 3],
    ['isDraft', 'false', 63],
    ['published', 'empty', 63],
    ['place', '{"lon":0,"lat":0}', 63],
    ['meta', 'null', 63],
  ] as const) {
    await open(field);
    await summary
      .getByRole('list', { name: 'Most frequent values' })
      .getByRole('button', { name: `${label} ${count}`, exact: true })
      .click();
    await page.getByText(`${count} records`, { exact: true }).waitFor();
  }
});
