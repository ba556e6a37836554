/** Finding one's way by the palette. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';

const skip = withoutChromium;
const notes = { name: 'notes', type: 'base', fields: [{ name: 'title', type: 'text' }] };

test('what is typed while the palette is loaded is searched for', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.open();
  await page.addInitScript(stage.signingIn());
  const loaded = Promise.withResolvers<undefined>();
  await page.route('**/palette-*.js', async (route) => {
    await loaded.promise;
    await route.continue();
  });
  await page.goto(`${stage.url}/_/overview`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('rul');
  loaded.resolve(undefined);
  await page.getByRole('option', { name: 'Rules' }).waitFor();
  await page.keyboard.type('es');
  assert.equal(await page.getByRole('combobox', { name: 'Search' }).inputValue(), 'rules');
});

test('the palette finds records of every collection by their texts, in one request', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  for (const name of ['notes', 'ideas']) {
    await stage.pb.collections.create({ ...notes, name });
    await stage.pb.collection(name).create({ title: `about harbours in ${name}` });
  }
  const page = await stage.openSignedIn('overview');
  await page.getByRole('link', { name: 'ideas' }).first().waitFor();
  const searches: string[] = [];
  page.on('request', (request) => {
    if (/\/api\/(?:search|collections\/[^/]+\/records)/.test(request.url())) searches.push(request.url());
  });
  await page.keyboard.press('Control+k');
  const input = page.getByRole('combobox', { name: 'Search' });
  await input.fill('harbour');
  await page.getByRole('option', { name: 'ideas / about harbours in ideas' }).waitFor();
  assert.equal(searches.length, 1);
  await input.fill('harbours in notes');
  await page.getByRole('option', { name: 'notes / about harbours in notes' }).waitFor();
  await page.getByText(/^Searched 3 collections, texts in the newest [\d,]+ records$/).waitFor();
  await assertAccessible(page, 'the palette');
  await page.keyboard.press('Enter');
  await page.getByRole('complementary').getByLabel('title').waitFor();
  assert.equal(new URL(page.url()).pathname, '/_/c/notes');
});
