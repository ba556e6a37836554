/** The record table where things are small, large, or not there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { serveMain } from '../support/main-process.ts';
import { cell, drawer, handle, rows, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('a server that is stopped is told, and the table goes on when it is back', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 5);
  const page = await stage.openSignedIn('c/notes', { hasOutage: true });
  await cell(page, 0, 'title').waitFor();
  stage.server.kill('SIGTERM');
  await stage.server.ended;
  const filter = page.getByLabel('Filter notes');
  await filter.fill('price > 2');
  await page.keyboard.press('Enter');
  await page.getByText('The service cannot be reached.').first().waitFor();
  await serveMain(t, stage.data, { flags: ['--port', new URL(stage.url).port] });
  await page.getByText('2 records').waitFor();
  assert.equal(await rows(page).count(), 2);
});

const sizes = [
  { name: 'a phone of 375 px', options: { viewport: { width: 375, height: 740 } } },
  { name: 'a zoom of 200 %', options: { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 } },
];

for (const { name, options } of sizes)
  test(`on ${name} rows are selected, edited and opened without scrolling the page`, { skip }, async (t) => {
    const stage = await startSignedInStage(t);
    await withNotes(stage, 30);
    const page = await stage.openSignedIn('c/notes?filter=price>=0', options);
    const { width } = options.viewport;
    const fits = () => page.evaluate<number>('document.documentElement.scrollWidth');
    await rows(page).first().getByRole('checkbox').click();
    const edit = page.getByRole('button', { name: 'Edit a field' });
    await edit.waitFor();
    assert.ok((await fits()) <= width, 'the page is no wider than the screen');
    await assertAccessible(page, name);
    await page.getByRole('button', { name: 'Clear the selection' }).click();
    await edit.waitFor({ state: 'detached' });
    await cell(page, 0, 'title').dblclick();
    const box = await page.getByRole('dialog', { name: /^title of/ }).boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width, 'the editor is on the screen');
    await page.keyboard.press('Escape');
    await handle(page, 1).click();
    await drawer(page).getByLabel('title').waitFor();
    assert.ok((await fits()) <= width);
  });
