/** The setting `meta.hideControls`, which guards a service in production against changes by mistake in the dashboard. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { cell, drawer, handle, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('locked records are changed after one more step, and definitions not at all', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('settings/general');
  await page.getByLabel('Lock collections and records').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved').waitFor();
  const { meta } = await stage.pb.settings.getAll();
  assert.equal(meta?.['hideControls'], true);

  assert.equal(await page.getByRole('link', { name: 'New collection' }).count(), 0);
  await page.getByRole('link', { name: 'notes' }).click();
  await cell(page, 0, 'title').dblclick();
  await page.getByRole('status').getByText('Records are locked.').waitFor();
  const editor = page.getByRole('dialog', { name: /^title of/ });
  assert.equal(await editor.count(), 0);
  assert.equal(await page.getByRole('link', { name: 'Schema' }).count(), 0);
  await assertAccessible(page, 'locked records');

  const writes: string[] = [];
  page.on('request', (request) => request.method() === 'PATCH' && writes.push(request.url()));
  await handle(page, 0).click();
  await drawer(page).getByLabel('title').fill('from the drawer');
  await page.keyboard.press('Control+Enter');
  await drawer(page).getByRole('button', { name: 'Unlock to save' }).click();
  assert.deepEqual(writes, [], 'nothing is sent before');
  await drawer(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).waitFor();
  await page.keyboard.press('Escape');

  await cell(page, 1, 'title').dblclick();
  await editor.getByLabel('title').fill('in its cell');
  await page.keyboard.press('Enter');
  await editor.waitFor({ state: 'detached' });
  assert.deepEqual((await titles(page)).slice(0, 2), ['from the drawer', 'in its cell']);

  for (const path of ['new-collection', 'c/notes/schema']) {
    await page.goto(`${stage.url}/_/${path}`);
    await page.getByText('Collections are locked').waitFor();
  }
  assert.equal(await page.getByRole('button', { name: 'Review' }).count(), 0);
});
