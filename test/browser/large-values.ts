/** Values of a megabyte: a page draws the beginning, says so, and changes nothing of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { cell, drawer } from './note-table.ts';

const skip = withoutChromium;
const size = 1_000_000;
/** Of all text in the page, apart from what inputs hold. */
const textMax = 120_000;

const values = {
  title: 'large',
  text: 'lorem ipsum '.repeat(size / 12),
  data: { list: Array.from({ length: size / 10 }, (_, index) => 10_000_000 + index) },
  body: `<p>${'sea '.repeat(size / 4)}</p>`,
};

async function withLargeValues(stage: BrowserStage): Promise<string> {
  await stage.pb.collections.create({
    name: 'papers',
    type: 'base',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'text', type: 'text', max: 2 * size },
      { name: 'data', type: 'json', maxSize: 2 * size },
      { name: 'body', type: 'editor', maxSize: 2 * size },
    ],
  });
  const { id } = await stage.pb.collection('papers').create(values);
  return id;
}

async function assertBounded(page: Page, place: string): Promise<void> {
  const [text, nodes] = await page.evaluate<readonly [number, number]>(
    `[
      document.body.textContent.length -
        [...document.querySelectorAll('textarea')].reduce((sum, { textContent }) => sum + textContent.length, 0),
      document.querySelectorAll('*').length,
    ]`,
  );
  assert.ok(text <= textMax, `${place} has ${text} characters`);
  assert.ok(nodes <= 5_000, `${place} has ${nodes} elements`);
}

async function assertUnchanged(stage: BrowserStage, id: string): Promise<void> {
  const { text, data, body } = await stage.pb.collection('papers').getOne(id);
  assert.ok(text === values.text && body === values.body, 'the texts are whole');
  assert.deepEqual(data, values.data);
}

test('a table, a drawer and its tabs show the beginning of large values', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const id = await withLargeValues(stage);
  const page = await stage.openSignedIn('c/papers');
  await page.evaluate(`window.longest = 0; new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  }).observe({ type: 'longtask' });`);
  await cell(page, 0, 'text').getByText('lorem ipsum').waitFor();
  await cell(page, 0, 'data').getByText('{"list":[10000000').waitFor();
  await assertBounded(page, 'the table');
  await cell(page, 0, 'title').click();
  await page.keyboard.press('Space');
  await drawer(page).getByLabel('title').fill('other');
  await assertBounded(page, 'the drawer');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  await assertUnchanged(stage, id);
  await drawer(page).getByRole('tab', { name: 'JSON' }).click();
  await drawer(page)
    .getByText(/The first [\d,]+ of [\d,]+ characters/)
    .waitFor();
  await assertBounded(page, 'the JSON');
  await assertAccessible(page, 'large JSON');
  await drawer(page).getByRole('tab', { name: 'Story' }).click();
  await drawer(page).locator('.story-event, .event-endpoints').first().waitFor();
  await drawer(page)
    .getByText(/\([\d,]+ characters\)/)
    .first()
    .waitFor();
  await assertBounded(page, 'the story');
  await drawer(page).getByRole('button', { name: 'Compare revisions' }).click();
  await drawer(page)
    .locator('.revisions-table')
    .getByText(/\([\d,]+ characters\)/)
    .first()
    .waitFor();
  await assertBounded(page, 'the revisions');
  await drawer(page).getByRole('link', { name: 'Created' }).first().click();
  await page.waitForURL('**/events/*');
  await page
    .getByText(/The first [\d,]+ of [\d,]+ characters/)
    .first()
    .waitFor();
  await assertBounded(page, 'the event');
  t.diagnostic(`the longest task took ${await page.evaluate<number>('window.longest')} ms`);
});

test('a large value is edited in its cell without losing any of it', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const id = await withLargeValues(stage);
  const page = await stage.openSignedIn('c/papers');
  await cell(page, 0, 'title').dblclick();
  await page.getByRole('dialog').getByLabel('title').fill('other');
  await page.keyboard.press('Control+Enter');
  await eventually('it is saved', async () => (await cell(page, 0, 'title').innerText()) === 'other');
  await assertUnchanged(stage, id);
  for (const field of ['text', 'data', 'body']) {
    await cell(page, 0, field).dblclick();
    const editor = page.getByRole('dialog', { name: new RegExp(`^${field} of`) });
    await editor.getByRole('textbox').waitFor();
    await assertBounded(page, `the editor of ${field}`);
    await page.keyboard.press('Escape');
    await editor.waitFor({ state: 'detached' });
  }
  await assertUnchanged(stage, id);
  await cell(page, 0, 'text').dblclick();
  await page.getByRole('dialog').getByRole('textbox').press('Control+End');
  await page.keyboard.type('!');
  await page.keyboard.press('Control+Enter');
  await eventually('the end is changed', async () => {
    const { text } = await stage.pb.collection('papers').getOne(id);
    return text === `${values.text}!`;
  });
});
