/** The controls of fields: choices, relations and points, in a cell and in the drawer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { cell, drawer, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('a choice is found by a part of its name, and saved in its cell by keys alone', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const page = await stage.openSignedIn('c/notes');
  const editor = page.getByRole('dialog', { name: /^state of/ });
  const active = page.locator('.cell[data-active]');
  await cell(page, 0, 'state').click();
  await page.keyboard.press('F2');
  await editor.getByRole('button', { name: 'state: –' }).waitFor();
  await page.keyboard.type('on');
  await page.getByRole('combobox', { name: 'Find in state' }).waitFor();
  await assertAccessible(page, 'a choice in a cell');
  assert.deepEqual(await page.getByRole('option').allInnerTexts(), ['done']);
  await page.keyboard.press('Enter');
  await editor.getByRole('button', { name: 'state: done' }).waitFor();
  assert.equal((await stage.pb.collection('notes').getFirstListItem('title = "note 1"'))['state'], '');
  await page.keyboard.press('Enter');
  await editor.waitFor({ state: 'detached' });
  await eventually('it is saved', async () => (await cell(page, 0, 'state').innerText()) === 'done');
  await page.keyboard.press('Enter');
  await editor.getByRole('button', { name: 'state: –' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.getByRole('combobox', { name: 'Find in state' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('combobox').and(page.getByLabel('Find in state')).waitFor({ state: 'detached' });
  assert.equal(await editor.count(), 1, 'Escape closes the list alone');
  await page.keyboard.press('Escape');
  await editor.waitFor({ state: 'detached' });
  assert.equal(await active.getAttribute('data-field'), 'state');
});

test('records are found by a part of their label and related, several in a row', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 12);
  const { id: collectionId } = await stage.pb.collections.getOne('notes');
  const fields = [{ name: 'notes', type: 'relation', collectionId, maxSelect: 3 }];
  await stage.pb.collections.create({ name: 'tasks', type: 'base', fields });
  await stage.pb.collection('tasks').create({});
  const page = await stage.openSignedIn('c/tasks');
  await cell(page, 0, 'notes').dblclick();
  await page
    .getByRole('dialog', { name: /^notes of/ })
    .getByText('Choose from notes')
    .click();
  const found = page.getByRole('option');
  for (const text of ['note 7', 'note 11']) {
    await page.getByRole('combobox', { name: 'Find in notes' }).fill(text);
    await eventually('it is found', async () => (await found.allInnerTexts()).join().startsWith(text));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: text }).waitFor();
  }
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Enter');
  const tasks = stage.pb.collection('tasks');
  await eventually('both are saved', async () => {
    const [task] = (await tasks.getFullList({ expand: 'notes' })).map(
      ({ expand }): unknown => expand?.['notes'],
    );
    return JSON.stringify(task).includes('note 7') && JSON.stringify(task).includes('note 11');
  });
});

test('a point is typed, or moved on a map that no other host is asked for', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 1);
  const { id } = await stage.pb.collection('notes').getFirstListItem('');
  const page = await stage.openSignedIn(`c/notes?record=${id}`);
  const hosts = new Set<string>();
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  const form = drawer(page);
  const [lon, lat] = [form.getByLabel('Longitude'), form.getByLabel('Latitude')];
  const map = form.getByRole('application', { name: /^Map/ });
  const point = map.locator('circle');
  const values = async () => [await lon.inputValue(), await lat.inputValue()].map(Number);
  await lon.pressSequentially('1-');
  await lon.fill('');
  await lon.pressSequentially('-71.5');
  await lat.fill('-91');
  await page.keyboard.press('Control+Enter');
  await form.getByText('The latitude must be a number from -90 to 90.').waitFor();
  assert.equal(await point.count(), 0);
  await assertAccessible(page, 'a point that is nowhere');
  await lat.fill('42.5');
  assert.deepEqual([await point.getAttribute('cx'), await point.getAttribute('cy')], ['-71.5', '-42.5']);
  await map.scrollIntoViewIfNeeded();
  const box = (await map.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const at = (x: number, y: number) => [box.x + box.width * x, box.y + box.height * y] as const;
  await page.mouse.click(...at(0.75, 0.25));
  await eventually('a click moves it', async () => (await values()).join() !== '-71.5,42.5');
  const [clickedLon = 0, clickedLat = 0] = await values();
  assert.ok(Math.abs(clickedLon - 90) < 2 && Math.abs(clickedLat - 45) < 2, `${clickedLon} ${clickedLat}`);
  await page.mouse.move(...at(0.75, 0.25));
  await page.mouse.down();
  await page.mouse.move(...at(0.6, 0.5), { steps: 3 });
  await page.mouse.up();
  await eventually('a drag moves it', async () => Math.abs(((await values())[0] ?? 0) - 36) < 2);
  await lon.fill('10');
  await lat.fill('50');
  await map.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowDown');
  assert.deepEqual(await values(), [19, 49.1]);
  const shown = async () => ((await map.getAttribute('viewBox')) ?? '').split(' ').map(Number);
  await form.getByRole('button', { name: 'Zoom in' }).click();
  assert.deepEqual((await shown()).slice(2), [180, 90]);
  await page.mouse.move(...at(0.5, 0.5));
  await page.mouse.wheel(0, -240);
  await eventually('the wheel zooms', async () => (await shown())[2] === 90);
  const before = await shown();
  await page.mouse.down();
  await page.mouse.move(...at(0.3, 0.5), { steps: 3 });
  await page.mouse.up();
  assert.ok(((await shown())[0] ?? 0) > (before[0] ?? 0), 'a drag beside the point moves the map');
  assert.deepEqual(await values(), [19, 49.1]);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page, `a map, ${colorScheme}`);
  }
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  assert.deepEqual((await stage.pb.collection('notes').getOne(id))['place'], { lon: 19, lat: 49.1 });
  assert.deepEqual([...hosts], [new URL(stage.url).host]);
});

test('files are moved, taken away, kept after all and added', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const fields = [{ name: 'papers', type: 'file', maxSelect: 5 }];
  await stage.pb.collections.create({ name: 'cases', type: 'base', fields });
  const file = (name: string) => new File([name], `${name}.txt`);
  const papers = [file('one'), file('two'), file('three')];
  const { id } = await stage.pb.collection('cases').create({ papers });
  const stored = async () =>
    [(await stage.pb.collection('cases').getOne(id))['papers']]
      .flat()
      .map((name) => String(name).split('_')[0]);
  const page = await stage.openSignedIn(`c/cases?record=${id}`);
  const form = drawer(page);
  const lines = form.getByRole('listitem');
  await form.getByRole('button', { name: 'Remove one' }).focus();
  await page.keyboard.press('Alt+ArrowDown');
  await eventually('it is second', async () => (await lines.nth(1).innerText()).startsWith('one'));
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  assert.deepEqual(await stored(), ['two', 'one', 'three']);
  await form.getByRole('button', { name: 'Remove two' }).click();
  await form.getByRole('button', { name: 'Remove three' }).click();
  await form.getByRole('button', { name: 'Keep two' }).click();
  const four = { name: 'four.txt', mimeType: 'text/plain', buffer: Buffer.from('four') };
  const five = { ...four, name: 'five.txt' };
  await form.getByLabel('Files for papers').setInputFiles([four, five]);
  await form.getByText('five.txt').waitFor();
  await form.getByRole('button', { name: 'Remove four.txt' }).click();
  await page.keyboard.press('Control+Enter');
  await eventually('it is saved', async () => (await stored()).join() === 'two,one,five');
});
