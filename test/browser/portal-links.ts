import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';

const skip = withoutChromium;

test(
  'a portal link opens the portal once, goes on after a reload, and says when it is over',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
    const { pb, endpoint, receiver } = stage;
    const path = `/api/webhooks/endpoints/${endpoint.id}`;
    await pb.send(path, { method: 'PATCH', body: { description: 'Harbour Bakery' } });
    await pb.send('/api/webhooks/endpoints', {
      method: 'POST',
      body: { url: `${receiver.url}other`, description: 'Somebody else', status: 'paused' },
    });
    const { id, url } = await pb.send<{ id: string; url: string }>('/api/webhooks/portal-links', {
      method: 'POST',
      body: { endpoints: [endpoint.id] },
    });
    const secret = new URL(url).hash.slice(1);
    const page = await stage.open({ refusals: [401, 403] });
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url(), JSON.stringify(request.headers())));
    await page.goto(url);
    await page.getByText('Harbour Bakery').waitFor();
    assert.equal(await page.getByText('Somebody else').count(), 0);
    assert.ok(!sent.some((text) => text.includes(secret)), 'the link is in no URL and no header');
    assert.ok(!page.url().includes(secret));
    const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
    assert.deepEqual(links, ['Webhooks', 'Events', 'Deliveries']);
    await assertAccessible(page, 'portal by a link');
    await stage.delivery(await stage.addOrder(), ({ status }) => status === 'delivered');
    await page.locator('.table-link').click();
    const figures = page.getByRole('table', { name: 'Deliveries by day' });
    await figures.getByRole('row', { name: 'Last 30 days' }).getByText('100 %').first().waitFor();
    await assertAccessible(page, 'figures of an endpoint');
    await page.reload();
    await figures.waitFor();
    await page.goto(`${stage.url}/_/c/orders`);
    await page.getByText('only for 1 endpoint').waitFor();
    // The same browser comes back to its session, another has none.
    await page.goto(url);
    await page.getByText('Harbour Bakery').waitFor();
    const other = await stage.open({ refusals: [403] });
    await other.goto(url);
    await other.getByRole('heading', { name: 'The portal is closed' }).waitFor();
    await assertAccessible(other, 'a portal link that was used');
    await pb.send(`/api/webhooks/portal-links/${id}`, { method: 'DELETE' });
    await page.reload();
    await page.getByRole('heading', { name: 'The portal is closed' }).waitFor();
  },
);
