/** The filter: what it can go on with, its conditions as chips, and those of before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { pressAtOnce } from '../support/press-at-once.ts';
import { cell, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('fields, operators and values complete a filter by keys', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 5);
  await stage.pb.collection('notes').create({ title: 'x', state: 'done' });
  const page = await stage.openSignedIn('c/notes');
  await cell(page, 0, 'title').waitFor();
  const filter = page.getByLabel('Filter notes');
  const options = async () => page.locator('.filter-choices .mono').allInnerTexts();
  await filter.focus();
  await page.keyboard.type('sta');
  await page.getByRole('option', { name: 'state' }).waitFor();
  assert.equal(await pressAtOnce(page, 'Tab'), 'state |');
  await eventually('operators follow', async () => (await options())[0] === '=');
  await page.keyboard.press('Tab');
  await eventually('values follow', async () => (await options()).slice(0, 2).join() === `'draft','done'`);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await filter.inputValue(), `state = 'done' `);
  await page.keyboard.press('Enter');
  await page.getByText('1 record', { exact: true }).waitFor();
  await filter.fill('created > @tod');
  await eventually('macros complete', async () => (await options()).join() === '@todayStart,@todayEnd');
});

test('a path of a relation completes with fields of the other collection', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const { id } = await stage.pb.collections.create({
    name: 'people',
    type: 'base',
    fields: [{ name: 'nick', type: 'text' }],
  });
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [{ name: 'author', type: 'relation', collectionId: id, maxSelect: 1 }],
  });
  const page = await stage.openSignedIn('c/notes');
  await page.getByText('notes is empty').waitFor();
  await page.getByLabel('Filter notes').pressSequentially('author.n');
  await page.getByRole('option', { name: 'author.nick' }).waitFor();
});

test('chips show each condition, and a filter that was good is there again', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 20);
  const page = await stage.openSignedIn('c/notes?filter=price>=5 %26%26 (title ~ "1" || title ~ "2")');
  const filter = page.getByLabel('Filter notes');
  const chips = page.getByRole('list', { name: 'Conditions' }).getByRole('listitem');
  await eventually('there are two', async () => (await chips.count()) === 2);
  await page.getByRole('button', { name: 'Remove (title ~' }).click();
  await page.getByText('15 records').waitFor();
  assert.equal(await filter.inputValue(), 'price>=5');
  await page.getByRole('button', { name: 'price>=5', exact: true }).click();
  await page.keyboard.type('price < 3');
  await page.keyboard.press('Enter');
  await page.getByText('3 records').waitFor();
  assert.equal(await chips.count(), 1);
  const kept = () =>
    page.evaluate<string>(
      `Object.entries(localStorage).find(([key]) => key.includes(':filters:'))?.[1] ?? ''`,
    );
  await eventually('it is kept', async () => (await kept()).includes('price < 3'));
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await page.getByText('20 records').waitFor();
  await filter.blur();
  await filter.focus();
  await page.getByRole('option', { name: 'price < 3' }).click();
  await page.getByText('3 records').waitFor();
});

test(
  'a word that is still to be looked for takes nobody back from the way to another screen',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withNotes(stage, 1);
    const page = await stage.open();
    await page.clock.install();
    await page.addInitScript(stage.signingIn());
    await page.goto(`${stage.url}/_/c/notes`);
    await cell(page, 0, 'title').waitFor();
    // The clock stands still, so the pause after the word is over when the test says so.
    await page.clock.pauseAt(await page.evaluate<number>('Date.now() + 1_000'));
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    await page.route('**/*.js', async (route) => {
      await released;
      await route.continue();
    });
    await page.getByLabel('Filter notes').fill('note');
    const loading = page.waitForRequest('**/*.js');
    await page.getByRole('link', { name: 'Settings' }).click();
    await loading;
    await page.clock.runFor(1_000);
    release(undefined);
    await page.clock.resume();
    await page.getByLabel('Name').waitFor();
    assert.match(new URL(page.url()).pathname, /\/settings/);
  },
);
