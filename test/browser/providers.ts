/** Sign-in providers of a collection. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';

const skip = withoutChromium;

async function addProvider(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a provider' }).click();
  await page.getByRole('combobox', { name: 'Find in Add a provider' }).fill(name);
  await page.keyboard.press('Enter');
}

test('a provider is added with its secret, which is never shown again, and removed', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('c/users/schema', { refusals: [400] });
  await page.getByText('Sign-in providers').click();
  await page.getByLabel('Enabled').check();
  await addProvider(page, 'Google');
  const google = page.getByRole('group', { name: 'Google' });
  await google.getByLabel('Client ID').fill('shop');
  const save = page.getByRole('button', { name: 'Save providers' });
  await save.click();
  await google.getByText('Cannot be blank.').waitFor();
  await google.getByLabel('Client secret').fill('canary: of google');
  await save.click();
  await page.getByRole('status').getByText('Saved.').waitFor();
  assert.equal(await google.getByLabel('Client secret').inputValue(), '');
  await assertAccessible(page, 'sign-in providers');
  await addProvider(page, 'OpenID Connect (oidc)');
  const oidc = page.getByRole('group', { name: 'OIDC' });
  await oidc.getByLabel('Issuer').fill('https://login.example.com');
  await oidc.getByLabel('Client ID').fill('staff');
  await oidc.getByLabel('Client secret').fill('canary: of an issuer');
  await page.getByRole('button', { name: 'Remove Google' }).click();
  await save.click();
  await eventually('the issuer is left', async () => {
    const { oauth2 } = await stage.pb.collections.getOne('users');
    const providers: readonly { readonly name: string }[] = oauth2.providers;
    const names = providers.map(({ name }) => name);
    return oauth2.enabled && names.join(' ') === 'oidc';
  });
});
