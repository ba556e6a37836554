import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import PocketBase, { ClientResponseError } from 'pocketbase';
import { runMain, runMainWith, serveMain } from '../support/main-process.ts';
import { runInProcess, type CommandResult } from '../support/run-in-process.ts';
import { serveInProcess } from '../support/serve-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const password = 'correct horse';

describe('superuser, with no server', () => {
  test('upsert makes one, then changes the password; list shows all in order; delete deletes', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    assertSays(await run('upsert', 'b@example.com', password), 'Superuser b@example.com created.\n');
    assertSays(await run('upsert', 'a@example.com', password), 'Superuser a@example.com created.\n');
    assertSays(await run('upsert', 'b@example.com', 'another one'), 'Superuser b@example.com updated.\n');
    assertSays(await run('list'), 'b@example.com\na@example.com\n');
    assertSays(await run('delete', 'a@example.com'), 'Superuser a@example.com deleted.\n');
    assertSays(await run('list'), 'b@example.com\n');

    const { url } = await serveInProcess(t, data);
    assert.equal((await signIn(url, 'b@example.com', 'another one')).authStore.isSuperuser, true);
    await assertRefusesSignIn(url, 'b@example.com', password);
    await assertRefusesSignIn(url, 'a@example.com', password);
  });

  test('the last one cannot be deleted, nor one that is not there', async (t) => {
    const run = commandsOf(temporaryFolder(t));
    await run('upsert', 'a@example.com', password);
    assertRefused(await run('delete', 'a@example.com'), /can't delete the only existing superuser/);
    assertRefused(await run('delete', 'b@example.com'), /There is no superuser b@example\.com/);
    assertSays(await run('list'), 'a@example.com\n');
  });

  test('a bad e-mail, a short password, a missing one and an unknown instance are refused', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const run = commandsOf(data);
    assertRefused(await run('upsert', 'nobody', password), /email: .*valid email/i);
    assertRefused(await run('upsert', '', password), /email: /);
    assertRefused(await run('upsert', 'a@example.com', '1234567'), /at least 8 characters/);
    assertRefused(await run('upsert', 'a@example.com', password, '--instance', 'acme'), /no instance acme/);
    const missing = await run('upsert', 'a@example.com');
    assert.equal(missing.code, 64);
    assert.match(missing.stderr, /^chancery: Expected either a password or --password-stdin\.\n$/);
    assert.equal((await run('upsert', 'a@example.com', password, '--password-stdin')).code, 64);
    const key = await run('upsert', 'a@example.com', password, '--key-file', 'none');
    assertRefused(key, /The master key file none does not exist/, 69);
    assert.equal(existsSync(data), false, 'what is refused makes no data directory');
    await run('upsert', 'a@example.com', password);
    assertRefused(await run('upsert', 'nobody', password), /email: .*valid email/i);
    assertSays(await run('list'), 'a@example.com\n');
  });

  test('a password can come from standard input, without the line end behind it', async (t) => {
    const data = temporaryFolder(t);
    const args = ['superuser', 'upsert', 'a@example.com', '--password-stdin', '--data', data];
    assertSays(await runMainWith(t, args, `${password} \n`), 'Superuser a@example.com created.\n');
    assertRefused(await runInProcess(args, { input: '' }), /password/i);
    const { url } = await serveInProcess(t, data);
    await signIn(url, 'a@example.com', `${password} `);
  });

  test('a password counts characters, not bytes, and may be of any script', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    assertRefused(await run('upsert', 'a@example.com', '🐎🐎🐎🐎'), /at least 8 characters/);
    assertSays(await run('upsert', 'a@example.com', '🐎'.repeat(8)), 'Superuser a@example.com created.\n');
    const { url } = await serveInProcess(t, data);
    await signIn(url, 'a@example.com', '🐎'.repeat(8));
  });
});

describe('superuser, beside a running server', () => {
  test('a new superuser signs in at once', async (t) => {
    const data = temporaryFolder(t);
    const { url } = await serveInProcess(t, data);
    await assertRefusesSignIn(url, 'a@example.com', password);
    await commandsOf(data)('upsert', 'a@example.com', password);
    const pb = await signIn(url, 'a@example.com', password);
    assert.equal((await pb.collections.getList()).page, 1);
  });

  test('a changed password ends old tokens and the old password', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    const { url } = await serveMain(t, data);
    await run('upsert', 'a@example.com', password);
    const old = await signIn(url, 'a@example.com', password);
    await run('upsert', 'a@example.com', 'battery staple');
    await assertIsGuest(old);
    await assertRefusesSignIn(url, 'a@example.com', password);
    const pb = await signIn(url, 'a@example.com', 'battery staple');
    assert.equal((await pb.collections.getList()).page, 1);
  });

  test('the token of a deleted superuser makes a guest, others stay', async (t) => {
    const data = temporaryFolder(t);
    const run = commandsOf(data);
    const { url } = await serveInProcess(t, data);
    await run('upsert', 'a@example.com', password);
    await run('upsert', 'b@example.com', password);
    const [gone, stays] = [
      await signIn(url, 'a@example.com', password),
      await signIn(url, 'b@example.com', password),
    ];
    assertSays(await run('delete', 'a@example.com'), 'Superuser a@example.com deleted.\n');
    await assertIsGuest(gone);
    assert.equal((await stays.collections.getList()).page, 1);
    assertSays(await run('list'), 'b@example.com\n');
  });
});

test('commands that start at once on an empty directory all do their work', async (t) => {
  const data = temporaryFolder(t);
  const emails = ['a@example.com', 'b@example.com', 'c@example.com'];
  const ended = await Promise.all(
    emails.map((email) => runMain(t, ['superuser', 'upsert', email, password, '--data', data])),
  );
  assert.deepEqual(
    ended.map(({ stderr }) => stderr),
    ['', '', ''],
  );
  const { stdout } = await commandsOf(data)('list');
  assert.deepEqual(stdout.trim().split('\n').toSorted(), emails);
});

function commandsOf(data: string): (...args: readonly string[]) => Promise<CommandResult> {
  return (...args) => runInProcess(['superuser', ...args, '--data', data]);
}

async function signIn(url: string, email: string, secret: string): Promise<PocketBase> {
  const pb = new PocketBase(url);
  await pb.collection('_superusers').authWithPassword(email, secret);
  return pb;
}

async function assertRefusesSignIn(url: string, email: string, secret: string): Promise<void> {
  await assert.rejects(signIn(url, email, secret), (error) => {
    assert.ok(error instanceof ClientResponseError);
    assert.deepEqual([error.status, error.message], [400, 'Failed to authenticate.']);
    return true;
  });
}

/** An invalid token is none: public routes serve, the superusers' do not. */
async function assertIsGuest(pb: PocketBase): Promise<void> {
  assert.deepEqual((await pb.health.check()).data, {});
  await assert.rejects(pb.collections.getList(), (error) => {
    assert.ok(error instanceof ClientResponseError);
    return error.status === 401;
  });
}

function assertSays({ code, stdout, stderr }: CommandResult, text: string): void {
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: text, stderr: '' });
}

function assertRefused({ code, stdout, stderr }: CommandResult, says: RegExp, expected = 65): void {
  assert.match(stderr, /^chancery: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.deepEqual({ code, stdout }, { code: expected, stdout: '' });
}
