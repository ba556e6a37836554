/** A table of notes, which the tests of records look at. */
import type { Locator, Page } from 'playwright-core';
import type { BrowserStage } from '../support/browser-stage.ts';

const fields = [
  { name: 'title', type: 'text', required: true, presentable: true },
  { name: 'price', type: 'number' },
  { name: 'isDraft', type: 'bool' },
  { name: 'mail', type: 'email' },
  { name: 'site', type: 'url' },
  { name: 'body', type: 'editor' },
  { name: 'published', type: 'date' },
  { name: 'state', type: 'select', values: ['draft', 'done'], maxSelect: 1 },
  { name: 'tags', type: 'select', values: ['sea', 'land', 'air'], maxSelect: 3 },
  { name: 'picture', type: 'file', maxSelect: 1 },
  { name: 'meta', type: 'json' },
  { name: 'place', type: 'geoPoint' },
  { name: 'created', type: 'autodate', onCreate: true },
];

/** A collection with a field of every type, and so many records: `note 0`, `note 1`, … */
export async function withNotes(stage: BrowserStage, count = 0): Promise<void> {
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields,
    indexes: ["CREATE UNIQUE INDEX `idx_notes_mail` ON `notes` (`mail`) WHERE `mail` != ''"],
  });
  for (let start = 0; start < count; start += 50) {
    const batch = stage.pb.createBatch();
    for (let index = start; index < Math.min(start + 50, count); index += 1)
      batch.collection('notes').create({ title: `note ${index}`, price: index });
    await batch.send();
  }
}

/** Chooses one of the choices of a control. */
export async function choose(scope: Page | Locator, label: string, choice: string): Promise<void> {
  await scope.getByRole('button', { name: `${label}: ` }).click();
  const page = 'page' in scope ? scope.page() : scope;
  await page.getByRole('option', { name: choice, exact: true }).click();
}

export const drawer = (page: Page) => page.getByRole('complementary');
/** Rows that are there: others are on their way. */
export const rows = (page: Page) => page.locator('.grid-body .row[aria-rowindex]:not([aria-busy])');
export const titles = async (page: Page): Promise<readonly string[]> =>
  rows(page).locator('.cell[data-field="title"]').allInnerTexts();

export const cell = (page: Page, row: number, field: string) =>
  rows(page).nth(row).locator(`.cell[data-field="${field}"]`);
/** Opens the record of a row. It shows where the pointer is. */
export const handle = (page: Page, row: number) =>
  rows(page)
    .nth(row)
    .getByRole('button', { name: /^Open / });
