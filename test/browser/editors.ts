/** Editors of texts that a program reads. That the policy of the page reports nothing is checked in every test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, type PageOptions, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';

const skip = withoutChromium;

async function openNewNote(stage: BrowserStage, options: PageOptions = {}): Promise<Page> {
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [
      { name: 'meta', type: 'json' },
      { name: 'title', type: 'text' },
    ],
  });
  return await stage.openSignedIn('', options);
}

const code = (page: Page) => page.locator('.cm-content');

test(
  'JSON is underlined where it is wrong, in light and dark, and laid out when one leaves it',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const page = await openNewNote(stage);
    await page.goto(`${stage.url}/_/c/notes?record=new`);
    await code(page).waitFor();
    const meta = page.getByLabel('meta');
    await meta.fill('{"a": tru}');
    await page.locator('.cm-lintRange-error').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, `an editor, ${colorScheme}`);
    }
    // Over a coloured text: the browser would keep its colours in an inline style.
    await meta.fill('{"a": true}');
    await meta.press('Control+a');
    await page.keyboard.type('[1]');
    assert.equal(await meta.innerText(), '[1]');
    await meta.fill('{"a":[1,2]}');
    await page.getByLabel('title').focus();
    assert.equal(await meta.innerText(), '{\n  "a": [\n    1,\n    2\n  ]\n}');
  },
);

test('Tab indents, and leaves after Esc, which does not close the drawer', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await openNewNote(stage);
  await page.goto(`${stage.url}/_/c/notes?record=new`);
  await code(page).waitFor();
  // A click on the label leads there, as to any field.
  await page.locator('label', { hasText: 'meta' }).click();
  await page.keyboard.type('1');
  await page.keyboard.press('Tab');
  assert.equal(await code(page).innerText(), '  1');
  // While one types, keys of the page are letters.
  await page.keyboard.type('c?/');
  assert.equal(await code(page).innerText(), '  1c?/');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  assert.match(await page.evaluate<string>('document.activeElement.id'), /-title$/);
  assert.equal(await code(page).innerText(), '  1c?/');
});

test(
  'a text can be written where the editor cannot be loaded, and goes on where it comes late',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const page = await openNewNote(stage, { hasOutage: true });
    let isLate: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (isLate = resolve));
    await page.route('**/code-editor-*.js', async (route) => {
      await late;
      await route.continue();
    });
    await page.goto(`${stage.url}/_/c/notes?record=new`);
    const meta = page.getByLabel('meta');
    await meta.fill('[1]');
    await meta.press('ArrowLeft');
    isLate();
    await code(page).waitFor();
    await page.keyboard.type(',2');
    assert.equal(await meta.innerText(), '[1,2]');
    await page.unrouteAll();
    await page.route('**/code-editor-*.js', (route) => route.abort());
    await page.reload();
    await page.getByLabel('meta').fill('{"b":1}');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('gridcell', { name: '{"b":1}' }).waitFor();
  },
);
