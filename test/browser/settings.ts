/** Settings, API keys, mails, definitions, the audit log. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'node:test';
import { assertAccessible } from '../support/axe.ts';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { SmtpSink } from '../support/smtp-sink.ts';

const skip = withoutChromium;

test('only what was changed is saved, and what is refused is told beside its field', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('settings/general', { refusals: [400] });
  await page.getByLabel('Name').fill('Harbour');
  await page.getByLabel('URL').fill('no url');
  // Somebody else changes another member meanwhile, which stays.
  await stage.pb.settings.update({ meta: { senderName: 'Harbour office' } });
  await page.keyboard.press('Control+Enter');
  await page.getByRole('alert').getByText('Must be a valid URL').waitFor();
  assert.equal(await page.getByLabel('URL').getAttribute('aria-invalid'), 'true');
  assert.equal((await stage.pb.settings.getAll())['meta'].appName, 'Acme', 'nothing is saved by halves');
  await page.getByLabel('URL').fill('https://harbour.example');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved.').waitFor();
  const { meta } = await stage.pb.settings.getAll();
  assert.deepEqual(
    [meta.appName, meta.appURL, meta.senderName],
    ['Harbour', 'https://harbour.example', 'Harbour office'],
  );
  await page.locator('.sidebar-name').getByText('Harbour').waitFor();
});

test(
  'an API key is shown once, does what its scopes say, and is revoked by its name',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await stage.pb.collections.create({
      name: 'notes',
      type: 'base',
      fields: [{ name: 'title', type: 'text' }],
    });
    const page = await stage.openSignedIn('settings/keys', { refusals: [400] });
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('alert').getByText('Cannot be blank.').first().waitFor();
    await page.getByLabel('Name').fill('nightly import');
    await page.getByRole('checkbox', { name: 'records:read' }).check();
    await page.getByRole('button', { name: 'notes', exact: true }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Copy it now').waitFor();
    const key = await page.locator('.settings-card pre').first().innerText();
    assert.match(key, /^ck_\w{58}$/);
    const headers = { authorization: `Bearer ${key}` };
    const ask = async (path: string) => (await fetch(`${stage.url}${path}`, { headers })).status;
    assert.equal(await ask('/api/collections/notes/records'), 200);
    assert.equal(await ask('/api/collections/users/records'), 403);
    await page.getByRole('button', { name: 'I’ve copied it' }).click();
    await page.getByText('nightly import').first().waitFor();
    assert.ok(!(await page.content()).includes(key), 'the key is in the page no more');
    const kept = await page.evaluate<string>('JSON.stringify({ ...localStorage, ...sessionStorage })');
    assert.ok(!kept.includes(key), 'nor does the browser keep it');
    await page.getByRole('button', { name: 'Revoke nightly import' }).click();
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Revoke nightly import' });
    assert.equal(await confirm.isDisabled(), true);
    await page.getByLabel('Type nightly import to confirm').fill('nightly import');
    await confirm.click();
    await page.getByText('No API key yet').waitFor();
    assert.equal(await ask('/api/collections/notes/records'), 401);
  },
);

test('API keys are found, sorted and revoked together', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  for (const name of ['import', 'export', 'mirror'])
    await stage.pb.send('/api/keys', { method: 'POST', body: { name, scopes: ['records:read'] } });
  const page = await stage.openSignedIn('settings/keys');
  const names = page.locator('.data-table .table-main');
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await eventually('they are sorted', async () =>
    isDeepStrictEqual(await names.allInnerTexts(), ['export', 'import', 'mirror']),
  );
  assert.equal(new URL(page.url()).searchParams.get('sort'), 'name');
  await page.getByLabel('Find an API key').fill('PORT');
  await eventually('two are found', async () => (await names.count()) === 2);
  await page.getByLabel('Select the rows that are loaded').click();
  await page.getByText('2 API keys selected').waitFor();
  await assertAccessible(page, 'selected keys');
  await page.getByRole('button', { name: 'Revoke …' }).click();
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Revoke 2 API keys' });
  assert.equal(await confirm.isDisabled(), true);
  await page.getByLabel('Type 2 API keys to confirm').fill('2 API keys');
  await confirm.click();
  await page.getByText('No results for').waitFor();
  const { items } = await stage.pb.send<{ items: readonly { name: string }[] }>('/api/keys', {});
  assert.deepEqual(
    items.map(({ name }) => name),
    ['mirror'],
  );
});

test('secrets go to the service and never come back', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const secret = 'a-secret-of-the-mail-server';
  const page = await stage.openSignedIn('settings/mail');
  await page.getByLabel('Send mails by SMTP').check();
  await page.getByLabel('User name').fill('harbour');
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.keyboard.press('Control+Enter');
  await page.getByRole('status').getByText('Saved.').waitFor();
  const source = async (): Promise<string> =>
    page.evaluate<string>(
      `document.documentElement.outerHTML + JSON.stringify([...document.querySelectorAll('input, textarea')].map(({ value }) => value)) + JSON.stringify({ ...localStorage, ...sessionStorage })`,
    );
  assert.ok(!(await source()).includes(secret));
  await page.reload();
  await page.getByLabel('User name').waitFor();
  assert.ok(!(await source()).includes(secret));
  // A change of something else keeps it, and it can be removed.
  await page.getByLabel('User name').fill('pier');
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByText('It is removed when you save.').waitFor();
});

test('a test mail arrives, and what the mail server says is told', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const sink = await SmtpSink.start(t);
  await stage.pb.settings.update({ smtp: { enabled: true, host: '127.0.0.1', port: sink.port } });
  const page = await stage.openSignedIn('settings/mail', { refusals: [400] });
  await page.getByLabel('To', { exact: true }).fill('nobody');
  await page.getByRole('button', { name: 'Send the test mail' }).click();
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('To', { exact: true }).fill('ann@example.com');
  await page.getByRole('button', { name: /^Mail: / }).click();
  await page.getByRole('option', { name: 'Password reset' }).click();
  await page.getByRole('button', { name: 'Send the test mail' }).click();
  await page.getByText('The mail server accepted the mail to ann@example.com.').waitFor();
  const { parsed, to } = await sink.mail(0);
  assert.deepEqual(to, ['ann@example.com']);
  assert.match(parsed.subject ?? '', /^Reset your Acme password/);
  await sink.stop();
  await page.getByRole('button', { name: 'Send the test mail' }).click();
  await page.getByRole('alert').getByText('Failed to send the test email.').waitFor();
});

test('a template is changed for one collection', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('settings/templates');
  await page.getByRole('tab', { name: 'One-time code' }).click();
  assert.equal(new URL(page.url()).searchParams.get('template'), 'otp');
  await page.getByLabel('Subject').fill('Your code');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved.').waitFor();
  const users = await stage.pb.collections.getOne('users');
  assert.equal(users['otp'].emailTemplate.subject, 'Your code');
  assert.match(users['otp'].emailTemplate.body, /\{OTP\}/, 'the body is as it was');
});

test('rules of rate limits are edited, and each error stands under its rule', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('settings/rate-limits', { refusals: [400] });
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('Label of rule 5').fill('no label!');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').first().waitFor();
  assert.equal(await page.getByLabel('Label of rule 5').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Label of rule 5').fill('users:list');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved.').waitFor();
  // The SDK types settings as anything.
  const { rateLimits } = (await stage.pb.settings.getAll()) as { rateLimits: { rules: unknown[] } };
  assert.deepEqual(rateLimits.rules.at(-1), {
    label: 'users:list',
    audience: '',
    duration: 10,
    maxRequests: 100,
  });
});

test('definitions leave as a file and come back by a plan that is shown first', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.collections.create({
    name: 'notes',
    type: 'base',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'price', type: 'number' },
    ],
  });
  const page = await stage.openSignedIn('settings/definitions', { refusals: [400] });
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download collections.json' }).click();
  const text = await readFile(await (await downloading).path(), 'utf8');
  const definitions: { name: string; fields: { name: string }[] }[] = JSON.parse(text);
  assert.deepEqual(
    definitions.map(({ name }) => name),
    ['notes', 'users'],
  );
  const downloadingTypes = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download types' }).click();
  const types = await downloadingTypes;
  assert.equal(types.suggestedFilename(), 'chancery-types.ts');
  assert.match(
    await readFile(await types.path(), 'utf8'),
    /export interface NotesRecord \{[^}]*price: number;/,
  );
  await page.getByLabel('Definitions', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByText('No changes: everything is already like this').waitFor();
  const notes = definitions.find(({ name }) => name === 'notes');
  assert.ok(notes !== undefined);
  notes.fields = notes.fields.filter(({ name }) => name !== 'price');
  definitions.push({ name: 'boats', fields: [] });
  await page.getByLabel('Definitions', { exact: true }).fill(JSON.stringify(definitions));
  await page.getByLabel('Delete collections and fields that are not in it').check();
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByText('values lost: price').waitFor();
  await page.getByText('boats').first().waitFor();
  await page.getByRole('button', { name: 'Import …' }).click();
  await page.getByText('The values of notes.price are permanently deleted.').waitFor();
  await page.getByLabel('Type import to confirm').fill('import');
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByRole('status').getByText('The definitions are imported.').waitFor();
  const after = await stage.pb.collections.getOne('notes');
  assert.ok(!after.fields.some(({ name }) => name === 'price'));
  await stage.pb.collections.getOne('boats');
});

test('all sessions of a collection end by its name', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const password = 'correct horse';
  const email = 'ann@example.com';
  await stage.pb.collection('users').create({ email, password, passwordConfirm: password });
  const signIn = await fetch(`${stage.url}/api/collections/users/auth-with-password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ identity: email, password }),
  });
  // The answer of a sign-in has a token.
  const { token } = (await signIn.json()) as { token: string };
  const refresh = async () =>
    (
      await fetch(`${stage.url}/api/collections/users/auth-refresh`, {
        method: 'POST',
        headers: { authorization: token },
      })
    ).status;
  assert.equal(await refresh(), 200);
  const page = await stage.openSignedIn('settings/danger');
  await page.getByRole('button', { name: 'End the sessions … users' }).click();
  await page.getByLabel('Type users to confirm').fill('users');
  await page.getByRole('dialog').getByRole('button', { name: 'End the sessions' }).click();
  await page.getByRole('status').getByText('All sessions of users have ended.').waitFor();
  assert.equal(await refresh(), 401);
});

test('the audit log shows who did what, and leads to the request', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.settings.update({ meta: { appName: 'Harbour' } });
  const page = await stage.openSignedIn(`settings/audit?filter=action="settings.update"`);
  await page.getByRole('link', { name: 'settings.update' }).click();
  await page.getByText('"meta.appName"').waitFor();
  await assertAccessible(page, 'an entry of the audit log');
  // A link opens the entry, also beside a list that does not have it.
  await page.goto(page.url().replace('settings.update', 'sign-in'));
  await page.getByText('"meta.appName"').waitFor();
  await page.getByRole('link', { name: 'Its request' }).click();
  await eventually('its request is there', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    return page.locator('.log-request', { hasText: '/api/settings' }).isVisible();
  });
});

test('every section of the settings is open to everybody', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('settings');
  await page.getByRole('heading', { name: 'General', level: 1 }).waitFor();
  const links = await page.getByRole('navigation', { name: 'Settings' }).getByRole('link').all();
  assert.ok(links.length >= 14);
  for (const link of links) {
    const name = await link.innerText();
    await link.click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    await assertAccessible(page, name);
  }
});

test(
  'the accent of the settings is that of the dashboard, however pale or dark it is',
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    for (const [accentColor, colorScheme] of [
      ['#ffee00', 'light'],
      ['#101010', 'dark'],
      ['#e0457b', 'dark'],
    ] as const) {
      const page = await stage.openSignedIn('settings/general', { colorScheme });
      await page.getByLabel('Accent colour', { exact: true }).fill(accentColor);
      await page.keyboard.press('Control+Enter');
      await page.getByRole('status').getByText('Saved.').waitFor();
      await page.getByLabel('Name').fill('changed, so that the button has its colour');
      await assertAccessible(page, accentColor);
      const fill = async (): Promise<string> =>
        page.evaluate<string>(`document.documentElement.style.getPropertyValue('--accent-fill')`);
      assert.match(await fill(), /^rgb/);
      const before = await fill();
      await page.goto(`${stage.url}/_/logs`, { waitUntil: 'commit' });
      await page.getByRole('heading', { name: 'Logs' }).waitFor();
      assert.equal(await fill(), before);
      await assertAccessible(page, `${accentColor}, logs`);
    }
  },
);

test('what is not saved yet is there after a reload, but for secrets', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  const page = await stage.openSignedIn('settings/mail', { refusals: [400] });
  await page.getByLabel('Send mails by SMTP').check();
  await page.getByLabel('Host').fill('mail.harbour.example');
  await page.getByLabel('Port').fill('');
  await page.getByLabel('Password', { exact: true }).fill('a-secret');
  await page.getByRole('link', { name: 'General', exact: true }).click();
  await page.getByLabel('Accent colour', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Mail server', exact: true }).click();
  await page.reload();
  assert.equal(await page.getByLabel('Host').inputValue(), 'mail.harbour.example');
  assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('alert').first().waitFor();
  assert.equal(await page.getByLabel('Port').getAttribute('aria-invalid'), 'true');
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.reload();
  assert.equal(await page.getByLabel('Send mails by SMTP').isChecked(), false);
});

test('a scheduled job is run by a click', { skip }, async (t) => {
  const stage = await startSignedInStage(t);
  await stage.pb.settings.update({ backups: { cron: '0 3 * * *' } });
  const page = await stage.openSignedIn('settings/jobs');
  const list = page.getByRole('table', { name: 'Scheduled jobs' });
  await list.getByText('*/10 * * * *').waitFor();
  await assertAccessible(page, 'scheduled jobs');
  await list.getByRole('button', { name: 'Run now: Make a backup' }).click();
  await page.getByRole('status').getByText('Make a backup: started.').waitFor();
  await eventually('it is made', async () => (await stage.pb.backups.getFullList()).length === 1);
});
