/** The pages behind the links of mails to accounts. The mails come from a real mail server. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import PocketBase from 'pocketbase';
import { assertAccessible } from '../support/axe.ts';
import { account, type BrowserStage, startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { SmtpSink } from '../support/smtp-sink.ts';

const skip = withoutChromium;
const email = 'ann@example.com';
const password = 'correct horse';
const newPassword = 'another horse';

interface MailStage extends BrowserStage {
  /** Runs what sends a mail, and returns the link in it. */
  readonly linkOf: (ask: () => Promise<unknown>) => Promise<string>;
}

/** A service with an account, whose mails a mail server catches. */
async function startMailStage(t: TestContext, path = ''): Promise<MailStage> {
  const stage = await startSignedInStage(t);
  const sink = await SmtpSink.start(t);
  await stage.pb.settings.update({
    smtp: { enabled: true, host: '127.0.0.1', port: sink.port },
    meta: { appURL: `${stage.url}${path}`, appName: 'Harbour' },
  });
  await stage.pb.collection('users').create({ email, password, passwordConfirm: password });
  const linkOf = async (ask: () => Promise<unknown>): Promise<string> => {
    const count = sink.mails.length;
    await ask();
    const { parsed } = await sink.mail(count);
    const [, link] = /href="([^"]+)"/.exec(parsed.html ?? '') ?? [];
    assert.ok(link !== undefined, 'there is a link in it');
    return link;
  };
  return { ...stage, linkOf };
}

const users = (stage: BrowserStage) => new PocketBase(stage.url).collection('users');

async function choosePassword(page: Page, first: string, second: string): Promise<void> {
  await page.getByLabel('New password').fill(first);
  await page.getByLabel('Confirm password').fill(second);
  await page.getByRole('button', { name: 'Change password' }).click();
}

test(
  'the link of a mail verifies an address with one click, and with none does nothing',
  { skip },
  async (t) => {
    const stage = await startMailStage(t);
    const link = await stage.linkOf(() => users(stage).requestVerification(email));
    assert.match(link, /\/_\/#\/auth\/confirm-verification\//);
    const isVerified = async (): Promise<boolean> =>
      (await stage.pb.collection('users').getFirstListItem(`email = '${email}'`))['verified'];
    const page = await stage.open();
    const paths: string[] = [];
    page.on('request', (request) => paths.push(request.url()));
    await page.goto(link);
    await page.getByText(email).waitFor();
    await page.getByRole('banner').getByText('Harbour').waitFor();
    await assertAccessible(page, 'verification');
    assert.equal(await isVerified(), false);
    await page.getByRole('button', { name: 'Verify email address' }).click();
    await page.getByRole('heading', { name: 'Email address verified' }).waitFor();
    assert.equal(await isVerified(), true);
    const token = link.split('/').at(-1) ?? '';
    assert.ok(!paths.some((path) => path.split('#')[0]?.includes(token)), 'no address that is sent has it');
    // A second time changes nothing, and is no error either.
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('button', { name: 'Verify email address' }).click();
    await page.getByRole('heading', { name: 'Email address verified' }).waitFor();
  },
);

test('a new password is typed twice, and errors stand at their fields', { skip }, async (t) => {
  const stage = await startMailStage(t);
  const link = await stage.linkOf(() => users(stage).requestPasswordReset(email));
  const page = await stage.open({ refusals: [400] });
  await page.goto(link);
  await choosePassword(page, 'short', 'short');
  await page.getByRole('alert').getByText('Must be at least 8').waitFor();
  assert.equal(await page.getByLabel('New password').getAttribute('aria-invalid'), 'true');
  await choosePassword(page, newPassword, 'something else');
  await page.getByRole('alert').getByText("Values don't match.").waitFor();
  await assertAccessible(page, 'reset');
  await choosePassword(page, newPassword, newPassword);
  await page.getByRole('heading', { name: 'Password changed' }).waitFor();
  await users(stage).authWithPassword(email, newPassword);
  const source = await page.content();
  assert.ok(!source.includes(newPassword));
});

test('a link that was used says so, and sends another one', { skip }, async (t) => {
  const stage = await startMailStage(t);
  const link = await stage.linkOf(() => users(stage).requestPasswordReset(email));
  const [, token = ''] = /confirm-password-reset\/(.+)$/.exec(link) ?? [];
  await users(stage).confirmPasswordReset(token, newPassword, newPassword);
  const page = await stage.open({ refusals: [400] });
  await page.goto(link);
  await choosePassword(page, 'a third horse', 'a third horse');
  await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
  await assertAccessible(page, 'used link');
  await page.getByRole('button', { name: 'Send a new link' }).click();
  await page.getByText('sent a new link').waitFor();
});

test('a change of address wants the password, in the clean form of the link too', { skip }, async (t) => {
  const stage = await startMailStage(t);
  const ann = new PocketBase(stage.url);
  await ann.collection('users').authWithPassword(email, password);
  const link = await stage.linkOf(() => ann.collection('users').requestEmailChange('ann@new.example'));
  const page = await stage.open({ refusals: [400] });
  await page.goto(link.replace('#/auth/', 'auth/'));
  await page.getByText('ann@new.example').waitFor();
  await page.getByLabel('Your password').fill('wrong');
  await page.getByRole('button', { name: 'Change email address' }).click();
  await page.getByRole('alert').getByText('invalid password').waitFor();
  await assertAccessible(page, 'change of address');
  await page.getByLabel('Your password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Email address changed' }).waitFor();
  await users(stage).authWithPassword('ann@new.example', password);
});

test('an expired link says so before anybody types, and one without its end as well', { skip }, async (t) => {
  const stage = await startMailStage(t);
  const page = await stage.open();
  const claims = { collectionId: 'users', email, exp: 1_000, type: 'passwordReset' };
  const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.AAAA`;
  await page.goto(`${stage.url}/_/#/auth/confirm-password-reset/${token}`);
  await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
  await page.goto('about:blank');
  // Nobody has signed this one, so the page does not repeat what it says.
  const lie = { ...claims, email: 'your account is closed, call 555 1234', exp: 4_000_000_000 };
  const forged = `e30.${Buffer.from(JSON.stringify(lie)).toString('base64url')}.AAAA`;
  await page.goto(`${stage.url}/_/#/auth/confirm-password-reset/${forged}`);
  await page.getByRole('heading', { name: 'This link is incomplete' }).waitFor();
  assert.ok(!(await page.content()).includes('555'));
  await page.goto('about:blank');
  await page.goto(`${stage.url}/_/auth/confirm-password-reset`);
  await page.getByRole('heading', { name: 'This link is incomplete' }).waitFor();
});

test(
  'below a path, and with a superuser signed in beside, a reset of a superuser leads to the sign-in',
  { skip },
  async (t) => {
    const stage = await startMailStage(t, '/i/default');
    const link = await stage.linkOf(() =>
      stage.pb.collection('_superusers').requestPasswordReset(account.email),
    );
    assert.ok(link.startsWith(`${stage.url}/i/default/_/#/auth/`));
    const page = await stage.openSignedIn('overview', { refusals: [401] });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto(link);
    await choosePassword(page, newPassword, newPassword);
    await page.getByRole('heading', { name: 'Password changed' }).waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Email').fill(account.email);
    await page.getByLabel('Password', { exact: true }).fill(newPassword);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/i/default/_/overview');
  },
);
