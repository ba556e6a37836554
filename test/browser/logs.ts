/** The request log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;
const rows = (page: Page) => page.locator('.log-request');
const drawer = (page: Page) => page.getByRole('complementary');
const searchOf = (page: Page): URLSearchParams => new URL(page.url()).searchParams;

interface Id {
  readonly id: string;
}

const script = '<img src=x onerror=alert(1)>';

/** Makes a collection, five records, and two refusals: the log has them once this resolves. */
async function withRequests({ pb }: BrowserStage): Promise<void> {
  await pb.collections.create({ name: 'notes', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  for (let index = 0; index < 5; index += 1) await pb.collection('notes').create({ title: `note ${index}` });
  for (const id of ['missing-one', 'missing-two'])
    await assert.rejects(pb.collection('notes').getOne(id, { headers: { 'user-agent': script } }));
}

test('the filter, the outcome and the open entry are in the address', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withRequests(stage);
  const page = await stage.openSignedIn('logs');
  await rows(page).first().waitFor();
  await page.getByRole('radio', { name: 'Refused' }).click();
  await eventually('only refusals show', async () => (await rows(page).count()) === 2);
  assert.equal(searchOf(page).get('level'), 'refused');
  await page.getByLabel('Filter requests').fill('missing-one');
  await eventually('one is left', async () => (await rows(page).count()) === 1);
  await rows(page).first().click();
  await drawer(page).getByText("The requested resource wasn't found.").first().waitFor();
  // Texts of clients stay texts.
  await drawer(page).getByText(script, { exact: true }).waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await assertAccessible(page, 'log entry');
  const address = page.url();
  await page.reload();
  await drawer(page).getByText("The requested resource wasn't found.").first().waitFor();
  assert.equal(page.url(), address);
  assert.equal(await rows(page).count(), 1);
  await page.keyboard.press('Escape');
  await drawer(page).waitFor({ state: 'detached' });
  await page.goBack();
  await drawer(page).waitFor();
});

test('one entry shows all that the API has of it, and leads to those with its id', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withRequests(stage);
  const { items } = await stage.pb.logs.getList(1, 1, { filter: 'data.status = 404', sort: '-created' });
  const [log] = items;
  assert.ok(log !== undefined);
  const page = await stage.openSignedIn(`logs?log=${log.id}`);
  await drawer(page).getByText('_superusers').first().waitFor();
  const shown: unknown = JSON.parse(await page.locator('.json').innerText());
  assert.deepEqual(shown, JSON.parse(JSON.stringify(log)));
  await drawer(page).getByRole('link', { name: 'Requests with this id' }).click();
  await eventually('it is the only one', async () => (await rows(page).count()) === 1);
  assert.equal(searchOf(page).get('filter'), `data.requestId = "${log.data['requestId']}"`);
});

test('the table of the plot counts what the API counts, and a bar narrows the time', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withRequests(stage);
  const page = await stage.openSignedIn('logs?range=6h');
  const total = async (column: number): Promise<number> => {
    const cells = await page.locator(`.log-plot tbody td:nth-child(${column})`).allInnerTexts();
    return cells.reduce((sum, text) => sum + Number(text), 0);
  };
  await eventually('the refusals are counted', async () => (await total(3)) === 2);
  await page.getByLabel('Filter requests').fill('data.method = "POST" && message ~ "notes"');
  await page.keyboard.press('Enter');
  await eventually('only what is filtered is counted', async () => (await total(2)) === 5);
  assert.equal(await total(3), 0);
  const counts = await stage.pb.logs.getStats({ filter: 'data.method = "POST" && message ~ "notes"' });
  assert.equal(
    counts.reduce((sum, count) => sum + (count.total ?? 0), 0),
    5,
  );
  assert.equal((await page.locator('.log-plot tbody tr').count()) >= 6, true);
  await page.locator('.log-plot .plot-place').last().click();
  await page.getByLabel('From', { exact: true }).waitFor();
  assert.ok(searchOf(page).has('from') && searchOf(page).has('to'));
  assert.equal((await rows(page).count()) > 0, true);
});

test(
  'the overview has the requests of the day, what became of them and how long they took',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withRequests(stage);
    const page = await stage.openSignedIn('overview');
    const cells = async (table: string, column: number): Promise<readonly string[]> =>
      page
        .getByRole('table', { name: table, exact: true })
        .locator(`td:nth-of-type(${column})`)
        .allInnerTexts();
    const refused = await stage.pb.logs.getStats({ filter: 'level = 4' });
    const total = refused.reduce((sum, hour) => sum + (hour.total ?? 0), 0);
    assert.ok(total >= 2);
    await eventually('the plot counts what the log has', async () => {
      const counts = await cells('Requests', 2);
      return counts.reduce((sum, text) => sum + Number(text), 0) === total;
    });
    assert.equal((await cells('Requests', 1)).length, 24);
    assert.ok((await cells('Response time', 1)).some((text) => Number(text) > 0));
    await page
      .locator('.figure')
      .getByText(/none failed, p95 \d/)
      .waitFor();
    // The records that were made are the change of the day.
    await page
      .locator('.figure')
      .getByText(/\+5 in 24 h/)
      .waitFor();
    await page.getByRole('link', { name: /^No mail server/ }).click();
    await page.getByRole('heading', { name: 'Mail server' }).first().waitFor();
  },
);

test('successful requests of the dashboard are hidden until they are wanted', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withRequests(stage);
  const page = await stage.openSignedIn('c/notes', { refusals: [403] });
  await page.getByRole('gridcell', { name: 'note 0' }).waitFor();
  await page.evaluate("fetch('/api/collections/notes/records/refused-one')");
  const own = rows(page).filter({ hasText: 'GET /api/collections/notes/records?' });
  await page.getByRole('link', { name: 'Logs' }).click();
  const hidden = page.getByText(/^\d+ requests of the dashboard hidden/);
  await eventually('all of it is logged', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    return (
      (await hidden.count()) === 1 && (await rows(page).filter({ hasText: 'refused-one' }).count()) === 1
    );
  });
  assert.equal(await own.count(), 0);
  const { totalItems } = await stage.pb.logs.getList(1, 1, {
    filter: "level = 0 && data.referer ~ '/_/' && message !~ '/api/logs'",
  });
  assert.equal(Number.parseInt(await hidden.innerText(), 10), totalItems);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await own.first().waitFor();
  assert.equal(searchOf(page).get('dashboard'), 'yes');
  await page.reload();
  await own.first().waitFor();
  await page.getByRole('button', { name: 'Hide', exact: true }).click();
  await own.first().waitFor({ state: 'detached' });
  assert.equal(searchOf(page).get('dashboard'), null);
});

test('requests are sorted by what they took, and selected ones are copied', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withRequests(stage);
  const page = await stage.openSignedIn('logs?filter=notes', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.getByRole('button', { name: 'Took' }).click();
  await eventually('it is in the address', () => searchOf(page).get('sort') === '-data.execTime');
  const { items } = await stage.pb.logs.getList(1, 2, {
    filter: "message ~ 'notes' && message !~ '/api/logs'",
    sort: '-data.execTime',
  });
  await eventually('the slowest come first', async () => {
    const texts = await rows(page).allInnerTexts();
    return items.every(({ message }, index) => texts[index] === message);
  });
  await page.getByLabel('Select row 1').click();
  await page.getByLabel('Select row 2').click({ modifiers: ['Shift'] });
  await page.getByText('2 requests selected').waitFor();
  await assertAccessible(page, 'selected requests');
  await page.getByRole('button', { name: 'Copy JSON' }).click();
  await page.getByText('JSON copied.').waitFor();
  // The entries, of which the test reads the ids.
  const copied = JSON.parse(await page.evaluate('navigator.clipboard.readText()')) as readonly Id[];
  assert.deepEqual(
    copied.map(({ id }) => id),
    items.map(({ id }) => id),
  );
});

test('an error of the filter has its place under what was typed', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('logs', { refusals: [400] });
  await page.getByLabel('Filter requests').fill('level >>= 4');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('at position 6').waitFor();
  assert.equal(await page.locator('.filter-caret').innerText(), `${' '.repeat(6)}▲`);
});

test('a live view shows requests as they are answered, and not that it reads them', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await withRequests(stage);
  const page = await stage.openSignedIn('logs');
  await rows(page).first().waitFor();
  await page.getByRole('button', { name: 'Live' }).click();
  assert.equal(searchOf(page).get('live'), 'yes');
  await stage.pb.collection('notes').create({ title: 'while it is live' });
  const seen = `/api/collections/notes/records?seen=live`;
  await stage.pb.send(seen, { method: 'GET' });
  await eventually('the request shows', async () =>
    (await rows(page).first().innerText()).includes('seen=live'),
  );
  assert.equal(await page.locator('.log-request', { hasText: '/api/logs' }).count(), 0);
  // By keys: j and k go through the entries while one is open.
  await rows(page).first().click();
  const first = searchOf(page).get('log');
  await page.keyboard.press('j');
  await eventually('the next one is open', () => searchOf(page).get('log') !== first);
  await page.keyboard.press('k');
  await eventually('the first one is open again', () => searchOf(page).get('log') === first);
});
