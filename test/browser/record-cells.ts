/** Cells: editing in place, their menu, and how columns are laid out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { cell, drawer, handle, rows, titles, withNotes } from './note-table.ts';

const skip = withoutChromium;

test('a cell is edited in place, and what the service refuses is told in it', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('c/notes', { refusals: [400] });
  await cell(page, 0, 'title').dblclick();
  const editor = page.getByRole('dialog', { name: /^title of/ });
  await editor.getByLabel('title').fill('');
  await page.keyboard.press('Enter');
  await editor.getByRole('alert').getByText('Cannot be blank.').waitFor();
  await assertAccessible(page, 'cell editor');
  await editor.getByLabel('title').fill('better');
  await page.keyboard.press('Control+Enter');
  await editor.waitFor({ state: 'detached' });
  assert.equal((await titles(page))[0], 'better');
  assert.equal(await drawer(page).count(), 0, 'a double click opens no drawer');
  await stage.pb.collection('notes').getFirstListItem('title = "better"');
  await cell(page, 1, 'title').dblclick();
  await editor.getByLabel('title').fill('never');
  await page.keyboard.press('Escape');
  await editor.waitFor({ state: 'detached' });
  assert.equal((await titles(page))[1], 'note 1');
});

test('a cell does not write over what somebody else has saved meanwhile', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const page = await stage.openSignedIn('c/notes', { refusals: [412] });
  const notes = stage.pb.collection('notes');
  const { id } = await notes.getFirstListItem('title = "note 1"');
  const editor = page.getByRole('dialog', { name: /^title of/ });
  const conflict = editor.getByText('Someone else changed this record.');
  await cell(page, 0, 'title').dblclick();
  await editor.getByLabel('title').fill('mine');
  await notes.update(id, { title: 'theirs' });
  await page.keyboard.press('Enter');
  await conflict.waitFor();
  assert.deepEqual(await editor.locator('dd').allInnerTexts(), ['mine', 'theirs']);
  await assertAccessible(page, 'conflict in a cell');
  await editor.getByRole('button', { name: 'Use the saved version' }).click();
  await editor.waitFor({ state: 'detached' });
  await eventually('the row is current', async () => (await titles(page))[0] === 'theirs');
  // Between the look at the record and the change of it: the service refuses that.
  const others: Record<string, unknown>[] = [{ title: 'theirs again', price: 99 }, {}];
  await page.route(`**/records/${id}*`, async (route) => {
    const next = route.request().method() === 'PATCH' ? others.shift() : undefined;
    if (next !== undefined) {
      assert.match(route.request().headers()['if-match'] ?? '', /^"[23]-/);
      await notes.update(id, { ...next, body: `${others.length} left` });
    }
    await route.continue();
  });
  await cell(page, 0, 'title').dblclick();
  await editor.getByLabel('title').fill('mine again');
  await page.keyboard.press('Enter');
  await conflict.waitFor();
  assert.equal((await notes.getOne(id))['title'], 'theirs again');
  await editor.getByRole('button', { name: 'Keep mine' }).click();
  // What the others save now is of other fields, and none of it is lost.
  await editor.getByRole('button', { name: /^Save\b/ }).click();
  await editor.waitFor({ state: 'detached' });
  const saved = await notes.getOne(id);
  assert.deepEqual([saved['title'], saved['price'], saved['body']], ['mine again', 99, '0 left']);
});

test('cells are reached and edited by keys alone', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('c/notes');
  await cell(page, 0, 'title').waitFor();
  await page.getByRole('grid').focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter'])
    await page.keyboard.press(key);
  const editor = page.getByRole('dialog', { name: /^price of/ });
  await editor.getByLabel('price').fill('77');
  await page.keyboard.press('Enter');
  await eventually('it is saved', async () => (await cell(page, 1, 'price').innerText()) === '77');
  const [record] = (await stage.pb.collection('notes').getList(1, 1, { filter: 'price = 77' })).items;
  assert.equal(record?.['title'], 'note 1');
});

test('keys move, type and copy as in a spreadsheet', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('c/notes', { permissions: ['clipboard-read', 'clipboard-write'] });
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const active = page.locator('.cell[data-active]');
  const activeField = async () => active.getAttribute('data-field');
  const editor = page.locator('.cell-editor');
  await cell(page, 0, 'title').click();
  // The first letter opens the editor, and none of those behind it is lost while it comes.
  await page.keyboard.type('xjk typed');
  await editor.waitFor();
  assert.equal(await editor.getByLabel('title').inputValue(), 'xjk typed');
  await press('Tab');
  await eventually('Tab saves and goes on', async () => (await activeField()) === 'price');
  assert.equal((await titles(page))[0], 'xjk typed');
  await page.keyboard.type('12');
  await press('Enter');
  await eventually('Enter saves and goes down', async () => (await active.innerText()) === '1');
  assert.equal(await cell(page, 0, 'price').innerText(), '12');
  await press('ArrowRight', 'ArrowRight');
  await page.keyboard.type('e@example.com');
  assert.equal(await editor.getByLabel('mail').inputValue(), 'e@example.com');
  await press('Escape');
  await editor.waitFor({ state: 'detached' });
  await press('Home', 'Tab');
  assert.equal(await activeField(), 'title');
  await press('Control+c');
  await page.getByRole('status').getByText('Value copied.').waitFor();
  assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), 'note 1');
  await press('Backspace');
  await editor.waitFor();
  assert.equal(await editor.getByLabel('title').inputValue(), '');
  await press('Escape');
  await editor.waitFor({ state: 'detached' });
  await press('Shift+Space', 'Control+End');
  await page.getByText('1 record selected').waitFor();
  await eventually('the last row', async () => (await active.innerText()) === 'note 0');
  await press('End');
  assert.equal(await activeField(), 'updated');
  await assertAccessible(page, 'cell at the end');
  await press('f');
  assert.equal(await editor.count(), 0, 'what the service fills in is not typed');
  await press('Tab');
  const role = await page.evaluate<string | null>("document.activeElement.getAttribute('role')");
  assert.notEqual(role, 'grid', 'Tab leaves the cells behind the last of a row');
  assert.equal(await page.getByRole('complementary').count(), 0);
});

test(
  'a click selects a cell, a double click edits it, and Space or the handle opens the record',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withNotes(stage, 4);
    const page = await stage.openSignedIn('c/notes');
    const selected = async () => page.locator('.cell[data-active]').allInnerTexts();
    await cell(page, 1, 'price').click();
    await assertAccessible(page, 'selected cell');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowLeft');
    await eventually('the cell below, to the left', async () => (await selected()).join() === 'note 1');
    const { activeCell, text } = await page.evaluate<{ activeCell: string; text: string }>(
      `(() => {
        const cell = document.getElementById(document.activeElement.getAttribute('aria-activedescendant'));
        return { activeCell: cell.getAttribute('role'), text: cell.innerText };
      })()`,
    );
    assert.deepEqual([activeCell, text], ['gridcell', 'note 1'], 'a screen reader is told the cell');
    assert.equal(await drawer(page).count(), 0, 'a click opens no drawer');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: /^title of/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Space');
    const title = drawer(page).getByLabel('title');
    await title.waitFor();
    assert.equal(await title.inputValue(), 'note 1');
    // The drawer shows what is selected.
    await cell(page, 3, 'title').click();
    await eventually('it follows', async () => (await title.inputValue()) === 'note 0');
    await cell(page, 0, 'price').dblclick();
    const editor = page.getByRole('dialog', { name: /^price of/ });
    await editor.getByLabel('price').fill('30');
    await page.keyboard.press('Control+Enter');
    await eventually('it is saved', async () => (await cell(page, 0, 'price').innerText()) === '30');
    await page.keyboard.press('Space');
    await drawer(page).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    assert.deepEqual(await selected(), [], 'Escape leaves the cell');
    await handle(page, 2).click();
    await eventually('the handle opens it', async () => (await title.inputValue()) === 'note 1');
    await page.keyboard.press('ArrowUp');
    await eventually('arrows go on from there', async () => (await title.inputValue()) === 'note 2');
  },
);

test('a relation is edited by a double click, and followed by its arrow', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 2);
  const { id: collectionId } = await stage.pb.collections.getOne('notes');
  await stage.pb.collections.create({
    name: 'tasks',
    type: 'base',
    fields: [{ name: 'note', type: 'relation', collectionId, maxSelect: 1 }],
  });
  const note = await stage.pb.collection('notes').getFirstListItem('title = "note 1"');
  await stage.pb.collection('tasks').create({ note: note.id });
  const page = await stage.openSignedIn('c/tasks');
  const chip = cell(page, 0, 'note').getByRole('link', { name: 'note 1' });
  await chip.dblclick({ position: { x: 8, y: 8 } });
  const editor = page.getByRole('dialog', { name: /^note of/ });
  await editor.getByRole('button', { name: /^Cancel/ }).click();
  await editor.waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).pathname, '/_/c/tasks');
  await chip.locator('.chip-arrow').click();
  await page.waitForURL(`**/c/notes?record=${note.id}`);
});

test('the menu of a cell filters by its value, and copies', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 5);
  const page = await stage.openSignedIn('c/notes', { permissions: ['clipboard-read', 'clipboard-write'] });
  await cell(page, 0, 'price').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Exclude this' }).click();
  await page.getByText('4 records').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('filter'), 'price != 4');
  await cell(page, 0, 'title').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Filter by this' }).click();
  await page.getByText('1 record', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Filter notes').inputValue(), 'price != 4 && title = "note 3"');
  await cell(page, 0, 'title').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Copy the JSON of the record' }).click();
  await page.getByRole('status').getByText('JSON copied.').waitFor();
  const copied = JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()')) as unknown; // What JSON.parse gives is any.
  assert.ok(typeof copied === 'object' && copied !== null && 'title' in copied && copied.title === 'note 3');
});

test('the address holds the columns, and Back lays them out as before', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 3);
  const page = await stage.openSignedIn('c/notes');
  await cell(page, 0, 'title').waitFor();
  const headers = async () => page.locator('.head-cell').allInnerTexts();
  const before = await headers();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'id', exact: true }).uncheck();
  await eventually('it is out of sight', async () => !(await headers()).includes('id'));
  await page.getByRole('button', { name: 'Pin price' }).click();
  await eventually('it comes first', async () => (await headers())[0] === 'price');
  const link = page.url();
  assert.match(new URL(link).searchParams.get('columns') ?? '', /^\*price,-id,title,/);
  await page.keyboard.press('Escape');
  await page.goBack();
  await eventually('it is not pinned', async () => (await headers())[0] === 'title');
  await page.goBack();
  await eventually('all is as before', async () => (await headers()).join() === before.join());
  const other = await stage.openSignedIn(link.slice(link.indexOf('c/notes')));
  await rows(other).first().waitFor();
  assert.equal(await other.locator('.head-cell').first().innerText(), 'price');
});

test('a page of the address is where the table begins', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage, 300);
  const page = await stage.openSignedIn('c/notes?page=5');
  await page.getByText('note 139', { exact: true }).waitFor();
  await page.getByRole('grid').focus();
  await page.keyboard.press('Home');
  await eventually('the address follows', async () => !page.url().includes('page='));
});

test('HTML shows as its texts in one line', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  const body =
    '<h1 class="a">Fish &amp; <b>ch</b>ips</h1><style>p { color: red }</style><p>3 &lt; 4&#33;<br>done</p><!-- no -->';
  await stage.pb.collection('notes').create({ title: 'one', body });
  const page = await stage.openSignedIn('c/notes');
  await cell(page, 0, 'body').waitFor();
  assert.equal(await cell(page, 0, 'body').innerText(), 'Fish & chips 3 < 4! done');
});

test('a script in any field shows as text', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withNotes(stage);
  const script = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;
  const { id } = await stage.pb.collection('notes').create({ title: script, body: script, meta: { script } });
  const page = await stage.openSignedIn(`c/notes?record=${id}`);
  await cell(page, 0, 'title').getByText(script).waitFor();
  assert.equal(await drawer(page).getByLabel('title').inputValue(), script);
  await drawer(page).getByRole('tab', { name: 'JSON' }).click();
  await page.locator('.json').getByText('onerror').first().waitFor();
  await cell(page, 0, 'body').dblclick();
  await page.getByRole('dialog', { name: /^body of/ }).waitFor();
  assert.notEqual(await page.title(), 'run');
  assert.equal(await page.locator('img[src="x"]').count(), 0);
});
