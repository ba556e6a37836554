/** The operator's screens: keys, and instances from their creation to their end. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../support/axe.ts';
import { account, type BrowserStage, type PageOptions, startStage } from '../support/browser-stage.ts';
import { choose } from '../support/choose.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { callAsOperator, makeDeskKey } from '../support/operator-world.ts';
import { runInProcess } from '../support/run-in-process.ts';

const skip = withoutChromium;

interface OperatorStage extends BrowserStage {
  /** Makes an operator key by the command that the screens name. */
  makeKey(scopes?: string): Promise<{ readonly id: string; readonly key: string }>;
  revokeKey(id: string): Promise<void>;
  /** Opens a page that is signed in with a key, at a path below `/_/operator/`. */
  openOperator(path: string, options?: PageOptions & { readonly scopes?: string }): Promise<Page>;
  /** Makes an instance by the API, and returns its id. */
  create(slug: string, members?: object): Promise<string>;
  /** Makes a record of its collection of notes, which guests may do. */
  note(slug: string, title: string): Promise<void>;
}

async function startOperatorStage(t: TestContext): Promise<OperatorStage> {
  const stage = await startStage(t);
  const makeKey: OperatorStage['makeKey'] = async (scopes) => {
    const key = await makeDeskKey(stage, scopes);
    return { id: (await callAsOperator(stage, key, { path: '/keys/current' })).id, key };
  };
  const openOperator: OperatorStage['openOperator'] = async (path, { scopes = 'admin', ...options } = {}) => {
    const { key } = await makeKey(scopes);
    const page = await stage.open(options);
    await page.goto(`${stage.url}/_/operator/${path}`);
    await signIn(page, key);
    return page;
  };
  const create: OperatorStage['create'] = async (slug, members = {}) => {
    const { key } = await makeKey();
    return (
      await callAsOperator(stage, key, { method: 'POST', path: '/instances', body: { slug, ...members } })
    ).id;
  };
  const note: OperatorStage['note'] = async (slug, title) => {
    const answer = await fetch(`${stage.url}/i/${slug}/api/collections/notes/records`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title }),
    });
    assert.equal(answer.status, 201, await answer.text());
  };
  const revokeKey = async (id: string): Promise<void> => {
    const { code, stderr } = await runInProcess(['operator', 'key', 'revoke', id, '--data', stage.data]);
    assert.equal(code, 0, stderr);
  };
  return { ...stage, makeKey, revokeKey, openOperator, create, note };
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Operator key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
}

test('an operator key signs in, is kept by the tab alone, and signs out', { skip }, async (t) => {
  const stage = await startOperatorStage(t);
  const page = await stage.open({ refusals: [401, 404] });
  await page.goto(`${stage.url}/_/operator/usage?by=writes`);
  await signIn(page, 'ck_none');
  await page.getByRole('alert').getByText('Operator keys start with co_.').waitFor();
  await signIn(page, `co_${'a'.repeat(58)}`);
  await page.getByRole('alert').getByText('There is no operator key yet.').waitFor();
  await page.getByText('chancery operator key create NAME').waitFor();
  await assertAccessible(page, 'no operator key');
  const { id, key } = await stage.makeKey();
  await signIn(page, `co_${'a'.repeat(58)}`);
  await page.getByRole('alert').getByText('valid operator key').waitFor();
  await signIn(page, key);
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
  assert.equal(page.url(), `${stage.url}/_/operator/usage?by=writes`);
  await page.reload();
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
  const stores = await page.evaluate<readonly string[]>(
    '[JSON.stringify(localStorage), document.cookie, location.href, JSON.stringify(sessionStorage)]',
  );
  assert.deepEqual(
    stores.map((text) => text.includes(key)),
    [false, false, false, true],
  );
  await page.getByRole('button', { name: 'desk' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Operator', exact: true }).waitFor();
  assert.ok(!(await page.evaluate<string>('JSON.stringify(sessionStorage)')).includes(key));

  await signIn(page, key);
  await page.getByRole('heading', { name: 'Instances', exact: true }).waitFor();
  await stage.makeKey();
  await stage.revokeKey(id);
  await eventually('the key is refused', async () => {
    const answer = await fetch(`${stage.url}/api/operator/nodes`, { headers: { authorization: key } });
    return answer.status === 401;
  });
  await page.reload();
  await page.getByText('The key is no longer valid.').waitFor();
});

test(
  'an instance is created with all that it begins with, and errors stand beside their members',
  { skip },
  async (t) => {
    const stage = await startOperatorStage(t);
    const page = await stage.openOperator('instances', { refusals: [400] });
    await page.getByRole('link', { name: 'default', exact: true }).waitFor();
    await page.getByRole('button', { name: 'New instance' }).click();
    const create = page.getByRole('button', { name: 'Create instance' });
    await page.getByLabel('Slug').fill('default');
    await create.click();
    await page.getByLabel('Slug').and(page.locator('[aria-invalid=true]')).waitFor();
    await page.getByLabel('Slug').fill('acme');
    await page.getByLabel('Superuser email').fill(account.email);
    await page.getByLabel('Superuser password', { exact: true }).fill('short');
    await page.getByText('Quotas', { exact: true }).click();
    await page.getByLabel('Records').fill('many');
    await create.click();
    await page.getByLabel('Records').and(page.locator('[aria-invalid=true]')).waitFor();
    await page.getByLabel('Records').fill('1,000');
    await page.getByLabel('Data').fill('5 GiB');
    await create.click();
    await page.locator('#superuser-password[aria-invalid=true]').waitFor();
    await assertAccessible(page, 'errors of a creation');
    await page.getByLabel('Superuser password', { exact: true }).fill(account.password);
    await page.getByLabel('Webhook URL').fill('http://127.0.0.1:9/hooks');
    await page.getByLabel('Labels').fill('plan=pro\ncustomer = 4711');
    await create.click();
    await page.getByRole('heading', { name: 'Instance created' }).waitFor();
    await page.getByText(`${stage.url}/i/acme`).waitFor();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole('link', { name: 'Open the instance' }).click();
    await page.getByRole('heading', { name: 'acme', exact: true }).waitFor();
    await page.getByText('customer: 4711').waitFor();
    await page.getByText('0 of 1,000').waitFor();
    await page.getByText('of 5 GB').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'acme', exact: true }).waitFor();
    assert.equal(await page.getByText(/^whsec_/).count(), 0);
    // A label finds it, and its state.
    await page.getByLabel('Find instances').fill("labels.plan = 'pro'");
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'default', exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'acme', exact: true }).waitFor();
    await choose(page, 'State', 'Suspended');
    await page.getByRole('heading', { name: 'No instance matches' }).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByRole('link', { name: 'default', exact: true }).waitFor();
    await page.getByLabel('Find instances').fill('slug =');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('at position 6').waitFor();
  },
);

test('several instances are suspended, resumed and backed up at once', { skip }, async (t) => {
  const stage = await startOperatorStage(t);
  for (const slug of ['one', 'two', 'three']) await stage.create(slug);
  const page = await stage.openOperator('instances?sort=-slug');
  const slugs = page.locator('.data-table .table-link');
  await eventually(
    'they are sorted',
    async () => (await slugs.allInnerTexts()).join(' ') === 'two three one default',
  );
  await page.getByLabel('Select row 1').click();
  await page.getByLabel('Select row 3').click({ modifiers: ['Shift'] });
  await page.getByText('3 instances selected').waitFor();
  await assertAccessible(page, 'selected instances');
  assert.equal(await page.getByRole('button', { name: 'Resume …' }).isDisabled(), true);
  const statusOf = async (slug: string) => (await fetch(`${stage.url}/i/${slug}/api/collections`)).status;
  await page.getByRole('button', { name: 'Suspend …' }).click();
  await page.getByRole('button', { name: 'Suspend 3 instances' }).click();
  await page.getByText('3 instances suspended.').waitFor();
  assert.deepEqual([await statusOf('one'), await statusOf('two')], [403, 403]);
  await page.getByLabel('Select row 2').click();
  await page.getByRole('button', { name: 'Resume …' }).click();
  await page.getByRole('button', { name: 'Resume 1 instance' }).click();
  await page.getByText('1 instance resumed.').waitFor();
  assert.deepEqual([await statusOf('one'), await statusOf('three')], [403, 401]);
  await page.getByRole('link', { name: 'Backups' }).click();
  await page.getByLabel('Find an instance').fill('t');
  await page
    .getByRole('row', { name: 'three' })
    .getByLabel(/^Select row/)
    .click();
  await page
    .getByRole('row', { name: 'default' })
    .getByLabel(/^Select row/)
    .click();
  await page.getByRole('button', { name: 'Back up …' }).click();
  await page.getByRole('button', { name: 'Back up 2 instances' }).click();
  await page.getByText('2 instances backed up.').waitFor();
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'three' }) });
  await row.getByRole('time').first().waitFor();
});

test('an instance is suspended, resumed, edited, and its quotas show what is used', { skip }, async (t) => {
  const stage = await startOperatorStage(t);
  const collections = [
    { name: 'notes', type: 'base', createRule: '', fields: [{ name: 'title', type: 'text' }] },
  ];
  const id = await stage.create('acme', { collections });
  for (const title of ['one', 'two', 'three', 'four']) await stage.note('acme', title);
  const page = await stage.openOperator(`instances/${id}`, { refusals: [400] });
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('Suspended since').waitFor();
  assert.equal((await fetch(`${stage.url}/i/acme/api/collections`)).status, 403);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('status').getByText('acme is resumed.').waitFor();
  await page.locator('.bar').getByText('Active').waitFor();

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  await page.getByLabel('Slug').fill('default');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('Slug').and(page.locator('[aria-invalid=true]')).waitFor();
  await page.getByLabel('Slug').fill('acme-inc');
  await page.getByLabel('Labels').fill('plan=pro');
  await page.getByText('Quotas', { exact: true }).last().click();
  await page.getByLabel('Records').fill('5');
  await page.getByLabel('Requests per second').fill('100');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved').waitFor();
  await page.getByRole('heading', { name: 'acme-inc', exact: true }).waitFor();
  // The page reads the usage again every half a minute.
  await page.getByText('4 of 5').waitFor({ timeout: 90_000 });
  await page.locator('.badge[data-tone=retrying]').getByText('80%').waitFor();
  await page.getByText('at most 100').waitFor();
  await assertAccessible(page, 'an instance');
  await stage.note('acme-inc', 'five');
  await page.reload();
  await page.locator('.badge[data-tone=failed]').getByText('100%').waitFor();
});

test('a link signs in to the dashboard of an instance once, and a key is shown once', { skip }, async (t) => {
  const stage = await startOperatorStage(t);
  const { email, password } = account;
  const id = await stage.create('acme', { superuser: { email, password } });
  const page = await stage.openOperator(`instances/${id}`, { refusals: [400, 404] });
  await page.getByRole('button', { name: 'Open dashboard' }).click();
  await page.getByLabel('Superuser email').fill('nobody@example.com');
  await page.getByRole('button', { name: 'Create sign-in link' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Superuser email').fill('');
  await page.getByRole('button', { name: 'Create sign-in link' }).click();
  const opening = page.context().waitForEvent('page');
  await page.getByRole('link', { name: 'Open dashboard' }).click();
  const dashboard = await opening;
  await dashboard.getByRole('heading', { name: 'Overview' }).waitFor();
  await dashboard.getByRole('button', { name: email }).waitFor();
  assert.equal(dashboard.url(), `${stage.url}/i/acme/_/overview`);

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Issue API key' }).click();
  await page.getByRole('button', { name: 'Issue key' }).click();
  await page.getByLabel('Name').and(page.locator('[aria-invalid=true]')).waitFor();
  await page.getByLabel('Name').fill('our app');
  await page.getByRole('checkbox', { name: 'records:read' }).check();
  await page.getByRole('button', { name: 'Issue key' }).click();
  const key = await page.getByText(/^ck_/).textContent();
  const own = await fetch(`${stage.url}/i/acme/api/keys/current`, { headers: { authorization: key ?? '' } });
  assert.equal(own.status, 200);
  assert.match(await own.text(), /"name":"our app"/);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText(/^ck_/).waitFor({ state: 'detached' });
});

test('an instance is backed up, archived, cloned, deleted and restored', { skip }, async (t) => {
  const stage = await startOperatorStage(t);
  const id = await stage.create('acme');
  const page = await stage.openOperator(`instances/${id}`, { refusals: [400] });
  await page.getByText('never').first().waitFor();
  await page.getByRole('button', { name: 'Back up now' }).click();
  await page.getByRole('status').getByText('The backup is stored.').waitFor();
  await page.locator('dd time').nth(1).waitFor();

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Download archive' }).click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), 'acme.chancery');
  const content = await readFile(await download.path());
  assert.equal(content.subarray(0, 2).toString(), 'PK');

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Clone' }).click();
  await page.getByLabel('Slug of the copy').fill('acme');
  await page.getByRole('button', { name: 'Clone' }).click();
  await page.locator('#clone-slug[aria-invalid=true]').waitFor();
  await page.getByLabel('Slug of the copy').fill('acme-test');
  await page.getByRole('button', { name: 'Clone' }).click();
  await page.getByRole('heading', { name: 'acme-test', exact: true }).waitFor();

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete the instance' });
  assert.equal(await confirm.isDisabled(), true);
  await page.getByLabel('Type acme-test to confirm').fill('acme-test');
  await confirm.click();
  await page.getByText('Can be restored until').waitFor();
  await assertAccessible(page, 'a deleted instance');
  assert.equal((await fetch(`${stage.url}/i/acme-test/api/health`)).status, 404);
  await page.getByRole('link', { name: 'Instances' }).click();
  await page.getByRole('link', { name: 'acme', exact: true }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'acme-test' }).count(), 0);
  await choose(page, 'State', 'Deleted');
  await page.getByRole('link', { name: 'acme-test' }).click();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('status').getByText('acme-test is restored.').waitFor();
  assert.equal((await fetch(`${stage.url}/i/acme-test/api/health`)).status, 200);

  await page.getByRole('link', { name: 'Backups' }).click();
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'acme-test' }) });
  await row.getByText('never').first().waitFor();
  await page.getByRole('button', { name: 'Back up acme-test now' }).click();
  await row.getByRole('time').first().waitFor();
  await page.getByRole('link', { name: 'Events' }).click();
  await page.getByRole('cell', { name: 'instance.restored' }).waitFor();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByRole('link', { name: 'instance.delete' }).click();
  await page.locator('pre.json').waitFor();
  await page.getByRole('link', { name: 'Nodes' }).click();
  await page.getByText('one process serves all instances').waitFor();
});

test('a key without a scope is told which one a screen needs', { skip }, async (t) => {
  const stage = await startOperatorStage(t);
  const id = await stage.create('acme');
  const page = await stage.openOperator('usage', { scopes: 'instances:read' });
  await page.getByRole('heading', { name: 'Needs the scope usage:read' }).waitFor();
  await page.getByText('chancery operator key create NAME --scopes instances:read,usage:read').waitFor();
  await assertAccessible(page, 'a missing scope');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByRole('heading', { name: 'Needs the scope admin' }).waitFor();
  await page.getByRole('link', { name: 'Instances' }).click();
  await page.getByRole('link', { name: 'acme', exact: true }).click();
  await page.getByText('The key lacks instances:write, keys:write, usage:read.').waitFor();
  for (const name of ['Suspend', 'Open dashboard', 'More actions', 'Back up now'])
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  await page.goto(`${stage.url}/_/operator/instances/${id}?open=edit`);
  await page.getByText('The key lacks').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);
  await page.goto(`${stage.url}/_/operator/instances?open=create`);
  await page.getByRole('link', { name: 'acme', exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Create instance' }).count(), 0);
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('button', { name: 'Use another key' }).click();
  await signIn(page, (await stage.makeKey('usage:read')).key);
  await page.getByRole('heading', { name: 'Needs the scope instances:read' }).waitFor();
});

test(
  'what the screens load stays within the budget, and the dashboard of an instance loads none of it',
  { skip },
  async (t) => {
    const stage = await startOperatorStage(t);
    const { key } = await stage.makeKey();
    const page = await stage.open();
    const loaded: string[] = [];
    page.on('response', (response) => loaded.push(new URL(response.url()).pathname));
    await page.goto(`${stage.url}/_/login`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.deepEqual(
      loaded.filter((path) => path.includes('operator')),
      [],
    );
    await page.goto(`${stage.url}/_/operator/login`);
    await signIn(page, key);
    await page.getByRole('link', { name: 'default', exact: true }).waitFor();
    loaded.length = 0;
    await page.reload();
    await page.getByRole('link', { name: 'default', exact: true }).waitFor();
    const files = loaded.filter((path) => path.startsWith('/_/'));
    assert.ok(files.length <= 12, files.join(', '));
    const calls = loaded.filter((path) => path.startsWith('/api/'));
    assert.ok(calls.length <= 3, calls.join(', '));
  },
);
