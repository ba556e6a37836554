/** From the link that a start prints to the first webhook, by clicks alone. */
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { account, startStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';

test(
  'set-up leads to a collection, a record, an endpoint with the catcher, and the first webhook',
  { skip: withoutChromium },
  async (t) => {
    const stage = await startStage(t);
    const page = await stage.open();
    await page.goto(stage.setupLink);
    await page.getByLabel('Email').fill(account.email);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    await page.getByLabel('Confirm password').fill(account.password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Your first webhook' }).waitFor();
    await assertAccessible(page, 'overview of an empty instance');
    await page.getByRole('button', { name: 'Create collection' }).click();
    await page.getByRole('link', { name: 'New record in posts' }).click();
    await page.getByLabel('title').fill('First');
    await page
      .getByRole('complementary')
      .getByRole('button', { name: /^(?:Create|Save)/ })
      .click();
    await page.getByRole('gridcell', { name: 'First' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'Try it with the catcher' }).click();
    await page.getByText('URL allowed.').waitFor();
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    const drawer = page.getByRole('complementary', { name: 'Endpoint created' });
    await drawer.getByText('Waiting for the first request.').waitFor();
    await drawer.getByRole('button', { name: 'Send test' }).click();
    await drawer.getByText('Delivered: the receiver answered 200').waitFor();
    await drawer.getByText('"event": "ping"').waitFor();
    await assertAccessible(page, 'endpoint created');
    await drawer.getByRole('button', { name: 'Done' }).click();
    // A change of a record is told as well, and shows where the endpoint is.
    await page.getByRole('navigation').getByRole('link', { name: 'posts' }).click();
    await page
      .getByRole('row', { name: 'First' })
      .getByRole('button', { name: /^Open / })
      .click();
    await page.getByLabel('title').fill('Second');
    await page.getByRole('button', { name: /^Save\b/ }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'Webhooks' }).click();
    await page.locator('.table-link').click();
    await page.getByRole('tab', { name: 'Test' }).click();
    await page.getByText('"event": "record.update"').waitFor();
    await page.getByText('"title": "Second"').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await page.locator('.figures').waitFor();
    const heading = page.getByRole('heading', { name: 'Your first webhook' });
    await eventually('the steps are gone', async () => (await heading.count()) === 0);
  },
);
