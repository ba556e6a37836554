/** The form of an endpoint: every option of the API, a draft that stays, and only what was changed is saved. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { type Certificate, makeCertificate } from '../support/certificate.ts';
import { withoutChromium } from '../support/chromium.ts';
import { startDeliveryStage } from '../support/delivery-stage.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';

const skip = withoutChromium;

/** Uses every fold of the form of a new endpoint, with what is wrong at first. */
async function fillOptions(drawer: Locator, { cert, key }: Pick<Certificate, 'cert' | 'key'>): Promise<void> {
  await drawer.getByText('Payload and exact copies').click();
  await drawer.getByLabel('Keep an exact copy').check();
  await drawer.getByLabel('Add CloudEvents headers').check();
  await drawer.getByText('Headers, tokens and certificates').click();
  await drawer.getByLabel('Headers', { exact: true }).fill('Authorization: Bearer f00d');
  await drawer.getByLabel('Authorize requests with an OAuth 2.0 token').check();
  await drawer.locator('#endpoint-oauth2-tokenUrl[aria-invalid]').waitFor();
  await drawer.getByLabel('Token URL').fill('https://login.example.com/token');
  await drawer.getByLabel('Client ID').fill('shop');
  await drawer.getByLabel('Client secret', { exact: true }).fill('s3cret');
  await drawer.getByText('Not with a header authorization').waitFor();
  await drawer.getByLabel('Authorize requests with an OAuth 2.0 token').uncheck();
  await drawer.getByLabel('Present a client certificate').check();
  await drawer.getByLabel('Certificate', { exact: true }).fill('no certificate');
  await drawer.locator('#endpoint-clientCertificate-certificate[aria-invalid]').waitFor();
  await drawer.getByLabel('Certificate', { exact: true }).fill(cert);
  await drawer
    .getByLabel('File: Private key')
    .setInputFiles({ name: 'client.key', mimeType: 'text/plain', buffer: Buffer.from(key) });
  await drawer.getByLabel('Certificate authority', { exact: true }).fill(cert);
  await drawer.getByLabel('Add Ed25519 signatures').check();
  await drawer.getByText('Order, batches and limits').click();
  await drawer.getByRole('radio', { name: 'Strict' }).check();
  await drawer.getByRole('radio', { name: 'Skip it' }).check();
  await drawer.getByLabel('Send several events in one request').check();
  await drawer.getByLabel('Maximum wait').fill('1.5 s');
  await drawer.getByLabel('Timeout').fill('soon');
  await drawer.getByText('Enter a duration').waitFor();
  await drawer.getByRole('button', { name: 'Create endpoint' }).click();
  await drawer.locator('#endpoint-timeoutMs:focus').waitFor();
  await drawer.getByLabel('Timeout').fill('20 s');
  await drawer.getByLabel('Expires after').fill('2 d');
  await drawer.getByText('Secret and status').click();
  await drawer.getByRole('radio', { name: 'Paused' }).check();
}

test('every option of an endpoint can be set, and secrets never show again', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.collections.create({
    name: 'orders',
    type: 'base',
    fields: [{ name: 'state', type: 'text' }],
  });
  const { cert, key } = makeCertificate({ names: ['client.example'], commonName: 'client.example' });
  const page = await stage.openSignedIn('webhooks?create=yes');
  const drawer = page.getByRole('complementary', { name: 'New endpoint' });
  await drawer.getByLabel('URL').fill('https://hooks.example.com/chancery');
  await drawer.getByRole('button', { name: 'orders' }).click();
  await drawer.getByLabel('Filter').fill("state = 'paid'");
  await fillOptions(drawer, { cert, key });
  await assertAccessible(page, 'all options');
  // A draft outlives a reload, what may be secret in it does not.
  await page.reload();
  await drawer.getByText('Order, batches and limits').click();
  assert.equal(await drawer.getByLabel('Timeout').inputValue(), '20 s');
  const kept = await page.evaluate<string>('JSON.stringify({ ...sessionStorage, ...localStorage })');
  assert.doesNotMatch(kept, /f00d|s3cret|PRIVATE KEY/);
  // What is wrong in it has opened it.
  await drawer.locator('#endpoint-clientCertificate-key-error').waitFor();
  await drawer.getByLabel('Private key', { exact: true }).fill(key);
  await drawer.getByRole('button', { name: 'Create endpoint' }).click();
  await page.locator('.secret code').waitFor();
  const { items } = await stage.pb.send<{ items: readonly Record<string, unknown>[] }>(
    '/api/webhooks/endpoints',
    {},
  );
  const { clientCertificate, ca, ...endpoint } = items[0] ?? {};
  const wanted = {
    filter: "state = 'paid'",
    transitions: true,
    cloudEvents: true,
    ed25519: true,
    order: 'strict',
    onExhausted: 'skip',
    batch: { max: 100, waitMs: 1_500 },
    timeoutMs: 20_000,
    maxAgeSeconds: 172_800,
    headers: {},
    oauth2: null,
    status: 'paused',
  };
  const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, endpoint[name]]));
  assert.deepEqual(found, wanted);
  assert.match(String(ca), /BEGIN CERTIFICATE/);
  // A stored key is kept while something else of the certificate's form is changed.
  await page.goto(`${stage.url}/_/webhooks/${String(endpoint['id'])}?tab=settings`);
  await page.getByText('Headers, tokens and certificates').click();
  await page.getByLabel('The stored certificate').getByText('CN=client.example').first().waitFor();
  assert.equal(await page.getByLabel('Private key', { exact: true }).inputValue(), '');
  await assertAccessible(page, 'a stored certificate');
  assert.ok(clientCertificate !== null);
});

test('only what was changed is saved, and a change is taken back by itself', { skip }, async (t) => {
  const stage = await startDeliveryStage(t, { modes: [{ kind: 'ok' }], schedule: [] });
  const path = `/api/webhooks/endpoints/${stage.endpoint.id}`;
  const page = await stage.openSignedIn(`webhooks/${stage.endpoint.id}?tab=settings`);
  const form = page.getByRole('form', { name: 'Options' });
  await form.getByLabel('Description').fill('The harbour');
  await form.getByRole('button', { name: 'Deleted', exact: true }).click();
  await form.getByText('Changed: Description, Events').waitFor();
  await assertAccessible(page, 'changes');
  await form.getByRole('button', { name: 'Undo' }).last().click();
  await form.getByText('Changed: Description').waitFor();
  // Somebody else changes another option meanwhile, which stays.
  await stage.pb.send(path, { method: 'PATCH', body: { maxInFlight: 3 } });
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await page.keyboard.press('Control+Enter');
  assert.deepEqual((await sent).postDataJSON(), { description: 'The harbour' });
  await page.getByRole('status').getByText('Saved.').waitFor();
  const saved = await stage.pb.send<Record<string, unknown>>(path, {});
  assert.deepEqual([saved['description'], saved['maxInFlight']], ['The harbour', 3]);
});

test(
  'an endpoint of an account whose receiver has not agreed is verified by a click',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
    t.after(() => receiver.close());
    const password = 'correct horse';
    const { id: account } = await stage.pb
      .collection('users')
      .create({ email: 'ann@example.com', password, passwordConfirm: password });
    const { id } = await stage.pb.send<{ id: string }>('/api/webhooks/endpoints', {
      method: 'POST',
      body: { url: receiver.url, owner: `users/${account}` },
    });
    const page = await stage.openSignedIn(`webhooks/${id}`);
    await eventually('the receiver was asked', () => Promise.resolve(receiver.requests.length > 0));
    await page.locator('.standing').getByText('Unverified').waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('status').getByText('Not verified').waitFor();
    receiver.mode = {
      kind: 'by request',
      modeOf: ({ body }) => ({
        kind: 'status',
        status: 200,
        body: String(JSON.parse(String(body)).data.challenge),
      }),
    };
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.locator('.standing').getByText('Active').waitFor();
    await page.getByRole('button', { name: 'Pause …' }).waitFor();
  },
);
