/** The sidebar of an instance with as many collections as there may be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;
/** The limit is 1,000, and a new instance has some of its own. */
const collectionCount = 980;
const importedTogether = 70;
const drawnMax = 80;

test(
  `of ${collectionCount} collections the sidebar draws those in sight, and finds and pins each`,
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const collections = Array.from({ length: collectionCount }, (_, index) => ({
      name: `c${String(index).padStart(3, '0')}`,
      fields: [{ name: 'title', type: 'text', presentable: true }],
    }));
    for (let at = 0; at < collectionCount; at += importedTogether)
      await stage.pb.send('/api/collections/import', {
        method: 'PUT',
        body: { collections: collections.slice(at, at + importedTogether) },
      });
    const page = await stage.openSignedIn('overview');
    const sidebar = page.getByRole('navigation', { name: 'Main' });
    const links = sidebar.locator('li.nav-item');
    const link = (name: string) => sidebar.getByRole('link', { name, exact: true });
    const assertBounded = async (): Promise<void> => {
      const count = await links.count();
      assert.ok(count < drawnMax, `${count} links are drawn`);
    };
    await link('c000').waitFor();
    await assertBounded();
    assert.equal(await link('c000').locator('xpath=..').getAttribute('aria-setsize'), '980');
    await assertAccessible(page, 'many collections');

    // By wheel, to the last one.
    await link('c000').hover();
    await eventually('the last one is reached', async () => {
      await page.mouse.wheel(0, 5_000);
      return link('c979').isVisible();
    });
    await assertBounded();
    await eventually('the first one is reached', async () => {
      await page.mouse.wheel(0, -5_000);
      return link('c000').isVisible();
    });

    // By keys: each link and its pin are a step of Tab, also beyond what was drawn at first.
    await link('c000').focus();
    for (let count = 0; count < 100; count += 1) await page.keyboard.press('Tab');
    assert.equal(await page.evaluate<string>('document.activeElement.textContent'), 'c050');
    await assertBounded();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'c050', exact: true }).waitFor();
    assert.equal(await link('c050').getAttribute('aria-current'), 'page');

    const find = sidebar.getByLabel('Find a collection');
    await find.fill('c97');
    await link('c979').waitFor();
    assert.equal(await links.count(), 10);
    await link('c977').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await sidebar.getByRole('button', { name: 'Unpin c977' }).waitFor();
    await page.reload();
    await sidebar.getByRole('heading', { name: 'Pinned' }).waitFor();
    await sidebar.getByRole('button', { name: 'Unpin c977' }).waitFor();
    await assertBounded();
    await find.fill('no such');
    await sidebar.getByText('No collection matches “no such”').waitFor();
    await assertAccessible(page, 'no collection matches');
  },
);
