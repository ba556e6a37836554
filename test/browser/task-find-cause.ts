/** A task as somebody has it who has never seen the dashboard: why did this customer not get their webhook? */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { account } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { countActions } from './count-actions.ts';
import { handle } from './note-table.ts';

const skip = withoutChromium;
const actionsMax = 12;

const ok = { kind: 'ok' } as const;
const gone = { kind: 'status', status: 404, body: 'no route for /hook' } as const;

test(
  'why a customer got no webhook is found, and mended, with a dozen clicks and keys',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [ok, ok, gone, ok], schedule: [] });
    for (const number of ['1001', '1002', '4711']) {
      const order = await stage.addOrder({ number, state: 'paid' });
      await stage.delivery(order, ({ status }) => status !== 'pending');
    }
    const page = await stage.open();
    await page.goto(`${stage.url}/_/`);
    await page.getByLabel('Email').waitFor();
    const actions = countActions(page);
    await actions.click(page.getByLabel('Email'));
    await actions.type(account.email);
    await actions.press('Tab');
    await actions.type(account.password);
    await actions.press('Enter');
    // What the customer has told: their order has the number 4711.
    await actions.click(page.getByRole('navigation').getByRole('link', { name: 'orders' }));
    await page.locator('.grid-body .row').first().waitFor();
    await actions.press('/');
    await actions.type('4711');
    await page.getByText('1 record', { exact: true }).waitFor();
    await actions.click(handle(page, 0));
    await actions.click(page.getByRole('tab', { name: 'Story' }));
    const story = page.getByRole('complementary');
    await story.getByText('The delivery did not arrive.').waitFor();
    await story.getByText('Gave up').waitFor();
    await story.getByText('404', { exact: true }).waitFor();
    t.diagnostic(`the cause is found with ${actions.count()} clicks and keys`);
    await actions.click(story.getByRole('button', { name: 'Resend 1 …' }));
    await actions.press('Enter');
    await story.getByText('The delivery arrived.').waitFor();
    t.diagnostic(`it is mended with ${actions.count()}`);
    assert.ok(actions.count() <= actionsMax, `${actions.count()} clicks and keys`);
    assert.equal(stage.receiver.requests.length, 4);
  },
);
