/** A view: its query is tried and saved, and its records are only looked at. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';

test('a view is made of a query that was tried, and only read', { skip: withoutChromium }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [{ name: 'title', type: 'text' }],
  });
  await stage.pb.collection('notes').create({ title: 'first' });
  const page = await stage.openSignedIn('new-collection', { refusals: [400] });
  await page.getByLabel('Name', { exact: true }).fill('titles');
  await page.getByRole('radio', { name: 'View' }).click();
  const query = page.getByRole('textbox', { name: 'Query' });
  await query.fill('SELECT title FROM notes');
  await page.getByRole('button', { name: 'Try query' }).click();
  await page.getByText('missing required id column').waitFor();
  await query.fill('SELECT id, title AS heading FROM notes');
  await page.getByRole('button', { name: 'Try query' }).click();
  await page.getByRole('list', { name: 'Fields of the view' }).getByText('heading').waitFor();
  await assertAccessible(page, 'view');
  await page.getByRole('button', { name: 'Create collection' }).click();
  await page.getByRole('gridcell', { name: 'first' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'New record' }).count(), 0);
  await page.getByRole('gridcell', { name: 'first' }).dblclick();
  await page.getByRole('link', { name: 'Schema' }).click();
  await query.fill('SELECT id, title AS name FROM notes');
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved.').waitFor();
  const { fields } = await stage.pb.collections.getOne('titles');
  assert.deepEqual(
    fields.map(({ name }) => name),
    ['id', 'name'],
  );
});
