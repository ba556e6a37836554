import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';

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
    await figures.getByRole('row', { name: 'Last 30 days' }).getByText('100%').first().waitFor();
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
    // Signing out ends the session on the server, and not in this browser alone.
    const linksPath = '/api/webhooks/portal-links';
    const again = await pb.send<{ url: string }>(linksPath, {
      method: 'POST',
      body: { endpoints: [endpoint.id] },
    });
    await page.goto(again.url);
    await page.getByText('Harbour Bakery').waitFor();
    await page.getByRole('button', { name: 'Portal' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await eventually('the session has ended', async () => {
      const { totalItems } = await pb.send<{ totalItems: number }>(linksPath, {});
      return totalItems === 0;
    });
  },
);

test(
  'a portal has the name, the logo, the colour and the theme of the settings, and a link back',
  { skip },
  async (t) => {
    const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
    const { pb, endpoint } = stage;
    const admin = await stage.openSignedIn('settings/portals');
    await admin.getByLabel('Title').fill('Shop webhooks');
    await admin.getByLabel('Logo').setInputFiles({
      name: 'logo.svg',
      mimeType: 'image/svg+xml',
      buffer: Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8"/></svg>',
      ),
    });
    await admin.getByAltText('The logo').waitFor();
    await admin.getByLabel('Colour', { exact: true }).fill('#b3261e');
    await admin.getByRole('radio', { name: 'Dark' }).check();
    await admin.getByLabel('Link back').fill('https://shop.example.com/account');
    await assertAccessible(admin, 'settings of the portal');
    await admin.getByRole('button', { name: 'Save' }).click();
    await admin.getByText('Saved').waitFor();
    const themeOf = "document.documentElement.dataset['theme']";
    assert.equal(await admin.evaluate<string>(themeOf), 'auto', 'it is the look of portals alone');
    const { id, url } = await pb.send<{ id: string; url: string }>('/api/webhooks/portal-links', {
      method: 'POST',
      body: { endpoints: [endpoint.id] },
    });
    const page = await stage.open({ refusals: [401] });
    await page.goto(url);
    const main = page.getByRole('navigation', { name: 'Main' });
    await main.getByText('Shop webhooks').waitFor();
    const back = page.getByRole('link', { name: 'Back to shop.example.com' });
    assert.equal(await back.getAttribute('href'), 'https://shop.example.com/account');
    const source = await main.locator('img').getAttribute('src');
    assert.match(source ?? '', /^data:image\/svg\+xml;base64,/);
    assert.equal(await page.evaluate<string>(themeOf), 'dark');
    const accentOf = "document.documentElement.style.getPropertyValue('--accent-fill')";
    assert.equal(await page.evaluate<string>(accentOf), 'rgb(179 38 30)');
    await assertAccessible(page, 'portal with a theme');
    await pb.send(`/api/webhooks/portal-links/${id}`, { method: 'DELETE' });
    await page.reload();
    await page.getByRole('heading', { name: 'The portal is closed' }).waitFor();
    await page.getByText('Shop webhooks').waitFor();
    await back.waitFor();
    await assertAccessible(page, 'closed portal with a theme');
  },
);

test('a superuser makes a portal link, and closes the portal that it has opened', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
  await stage.pb.send(`/api/webhooks/endpoints/${stage.endpoint.id}`, {
    method: 'PATCH',
    body: { description: 'Harbour Bakery' },
  });
  const admin = await stage.openSignedIn('settings/portals', { refusals: [400] });
  await admin.getByRole('button', { name: 'Create link' }).click();
  await admin.getByRole('alert').first().waitFor();
  await admin.getByRole('checkbox', { name: 'Harbour Bakery' }).check();
  await admin.getByLabel('May change them and send again').uncheck();
  await assertAccessible(admin, 'a new portal link');
  await admin.getByRole('button', { name: 'Create link' }).click();
  await admin.getByText('Copy it now').waitFor();
  const url = await admin.locator('.settings-group pre').innerText();
  await admin.getByText('Reads only').waitFor();
  await admin.getByText('Not opened').waitFor();
  const portal = await stage.open({ refusals: [401] });
  await portal.goto(url);
  await portal.getByText('Harbour Bakery').waitFor();
  await admin.reload();
  await admin.getByText('Open until').waitFor();
  assert.ok(!(await admin.content()).includes(new URL(url).hash.slice(1)), 'the link is shown once');
  await assertAccessible(admin, 'open portals');
  await admin.getByRole('button', { name: 'Close' }).click();
  await admin.getByText('None. Links that expired').waitFor();
  await portal.reload();
  await portal.getByRole('heading', { name: 'The portal is closed' }).waitFor();
});
