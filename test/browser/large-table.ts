/** A table of 100,000 rows and 80 columns. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;
const rowCount = 100_000;
const columnCount = 80;
/** Of rows and columns in sight, with those around them. */
const cellsMax = 1_500;
/** Of what the page keeps, whatever was scrolled through. */
const heapGrowthMax = 60_000_000;

const fieldNames = Array.from(
  { length: columnCount - 3 },
  (_, index) => `f${String(index + 1).padStart(2, '0')}`,
);

/** The rows are made by a statement in the file of the instance: a hundred thousand requests would take minutes. */
async function withLargeTable(stage: BrowserStage): Promise<void> {
  await stage.pb.collections.create({
    name: 'large',
    type: 'base',
    fields: [
      ...fieldNames.map((name, index) => ({ name, type: index % 3 === 2 ? 'number' : 'text' })),
      { name: 'created', type: 'autodate', onCreate: true },
      { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
    ],
  });
  const [file = ''] = globSync('instances/*/data.db', { cwd: stage.data });
  const database = new DatabaseSync(join(stage.data, file), { timeout: 10_000 });
  const now = new Date().toISOString().replace('T', ' ');
  const values = fieldNames.map((name, index) => (index % 3 === 2 ? `n + ${index}` : `'${name} ' || n`));
  database.exec(`
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rowCount})
    INSERT INTO large (id, "$revision", created, updated, ${fieldNames.join(', ')})
    SELECT printf('row%012d', n), 1, '${now}', '${now}', ${values.join(', ')} FROM numbers`);
  database.close();
}

const rowAt = (page: Page, index: number) => page.locator(`.row[aria-rowindex="${index + 2}"]`);
const cellAt = (page: Page, index: number, field: string) =>
  rowAt(page, index).locator(`.cell[data-field="${field}"]`);

async function assertBounded(page: Page): Promise<void> {
  const count = await page.locator('.grid-body [role="gridcell"]').count();
  assert.ok(count <= cellsMax, `${count} cells are in the page`);
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

test('the end of a large table is reached by a key, by pages, and by the wheel', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withLargeTable(stage);
  const page = await stage.openSignedIn('c/large');
  const last = rowCount - 1;
  await cellAt(page, 0, 'f01').getByText(`f01 ${rowCount}`, { exact: true }).waitFor();
  await page.getByText('100,000 records').waitFor();
  await assertBounded(page);
  const before = await heapOf(page);

  const grid = page.getByRole('grid');
  await grid.focus();
  await page.keyboard.press('End');
  await cellAt(page, last, 'f01').getByText('f01 1', { exact: true }).waitFor();
  assert.equal(await rowAt(page, last).getAttribute('aria-selected'), 'true');
  assert.equal(new URL(page.url()).searchParams.get('page'), String(rowCount / 40));
  await assertBounded(page);
  await assertAccessible(page, 'the end of a large table');
  await page.keyboard.press('Home');
  await cellAt(page, 0, 'f01').waitFor();
  for (let count = 1; count <= 20; count += 1) await page.keyboard.press('PageDown');
  await cellAt(page, 300, 'f01')
    .getByText(`f01 ${rowCount - 300}`, { exact: true })
    .waitFor();
  assert.equal(await rowAt(page, 300).getAttribute('aria-selected'), 'true');

  await grid.hover();
  await eventually('the wheel reaches the end', async () => {
    await page.mouse.wheel(0, 50_000);
    return rowAt(page, last).isVisible();
  });
  await cellAt(page, last, 'f01').getByText('f01 1', { exact: true }).waitFor();
  await assertBounded(page);
  // The selected row is far away: keys go on from there.
  await page.keyboard.press('ArrowDown');
  await cellAt(page, 301, 'f01').waitFor();
  assert.equal(await rowAt(page, 301).getAttribute('aria-selected'), 'true');
  const grown = (await heapOf(page)) - before;
  t.diagnostic(`the heap has grown by ${(grown / 1e6).toFixed(1)} MB`);
  assert.ok(grown < heapGrowthMax, `${grown} bytes more are kept`);
});

test('a link leads to a page in the middle of a large table', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withLargeTable(stage);
  const page = await stage.openSignedIn('c/large?page=1250');
  await cellAt(page, 49_960, 'f01')
    .getByText(`f01 ${rowCount - 49_960}`, { exact: true })
    .waitFor();
  await assertBounded(page);
  // A range has also the rows in between that nobody has looked at.
  const box = (index: number) => rowAt(page, index).getByRole('checkbox');
  await box(49_960).click();
  await page.getByRole('grid').hover();
  await page.mouse.wheel(0, 15_000);
  const target = 50_430;
  await box(target).click({ modifiers: ['Shift'] });
  await page.getByText('471 records selected').waitFor();
});

test('the last column of a large table is reached and edited', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withLargeTable(stage);
  const page = await stage.openSignedIn('c/large');
  const lastField = fieldNames.at(-1) ?? '';
  await cellAt(page, 3, 'f01').click();
  assert.equal(await cellAt(page, 3, lastField).count(), 0, 'columns out of sight are not in the page');
  await page.keyboard.press('End');
  const active = page.locator('.cell[data-active]');
  await eventually('the last column', async () => (await active.getAttribute('data-field')) === 'updated');
  await active.waitFor();
  assert.ok(await active.isVisible());
  assert.equal(await active.getAttribute('aria-colindex'), String(columnCount + 1));
  await assertBounded(page);
  await assertAccessible(page, 'the last columns');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await eventually('the one before', async () => (await active.getAttribute('data-field')) === lastField);
  await page.keyboard.type('changed');
  await page.keyboard.press('Control+Enter');
  await eventually('it is saved', async () => (await active.innerText()) === 'changed');
  const record = await stage.pb.collection('large').getOne(`row${String(rowCount - 3).padStart(12, '0')}`);
  assert.equal(record[lastField], 'changed');
  await page.keyboard.press('Home');
  await cellAt(page, 3, 'f01').waitFor();
  // By the wheel, with a pinned column that stays.
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('button', { name: 'Pin f02' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('grid').hover();
  await eventually('the wheel reaches the last column', async () => {
    await page.mouse.wheel(2_000, 0);
    return cellAt(page, 3, 'updated').isVisible();
  });
  const [pinned, end] = [
    await cellAt(page, 3, 'f02').boundingBox(),
    await cellAt(page, 3, 'updated').boundingBox(),
  ];
  const head = await page.getByRole('columnheader', { name: 'updated' }).boundingBox();
  assert.equal(end?.x, head?.x, 'cells stand below their heads');
  assert.ok(pinned !== null && end !== null && pinned.x >= 0 && pinned.x < end.x);
  await assertBounded(page);
});
