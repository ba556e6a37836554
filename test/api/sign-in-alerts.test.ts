import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteSuperuser, upsertSuperuser } from '../../src/auth/superuser.ts';
import { eventually } from '../support/eventually.ts';
import { password } from '../support/accounts.ts';
import { Mailbox } from '../support/mailbox.ts';
import { superuserSdk } from '../support/sdk.ts';

const path = '/api/collections/users';

test('a sign-in from a new place is told by mail, but the first, and five places are remembered', async (t) => {
  const box = await Mailbox.open(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const { service } = box.accounts;
  const root = await superuserSdk(service);
  const origins = async (): Promise<readonly string[]> => {
    const filter = root.filter('recordRef = {:id}', { id });
    const rows = await root.collection('_authOrigins').getFullList({ filter });
    return rows.map((row) => String(row['fingerprint']));
  };
  const signIn = async (from: string, userAgent: string): Promise<void> => {
    const { status } = await service.request(`${path}/auth-with-password`, {
      method: 'POST',
      headers: { 'x-forwarded-for': from, 'user-agent': userAgent },
      body: { identity: 'ann@example.com', password },
    });
    assert.equal(status, 200);
  };
  const made = { email: 'ann@example.com', password, passwordConfirm: password };
  const { id } = (await box.accounts.ask('POST', `${path}/records`, { body: made })).json;
  await signIn('192.0.2.1', 'First/1.0');
  await eventually('the first place', async () => (await origins()).length === 1);
  // MD5 of address and user agent.
  assert.deepEqual(await origins(), ['4c8905c63248d7270d2ffb65aaf0ca52']);
  const mail = await box.mailOf(() => signIn('192.0.2.2', `<b>${'x'.repeat(250)}`));
  assert.deepEqual([mail.to, mail.parsed.subject], [['ann@example.com'], 'New sign-in to your Acme account']);
  assert.match(mail.html, /2026-11-20 09:35:20 UTC - 192\.0\.2\.2 - &lt;b&gt;x{197}</);
  for (const last of [3, 4, 5, 6]) await box.mailOf(() => signIn(`192.0.2.${last}`, 'Other/1.0'));
  assert.equal((await origins()).length, 5);
  // Known by now; the first is not any more.
  await signIn('192.0.2.6', 'Other/1.0');
  const again = await box.mailOf(() => signIn('192.0.2.1', 'First/1.0'));
  assert.match(again.html, /192\.0\.2\.1 - First\/1\.0/);
  assert.equal(box.sink.mails.length, 6);
});

test('places are remembered once however many sign in at once, and not at all where nobody wants to be told', async (t) => {
  const box = await Mailbox.open(t);
  const { email, id } = await box.accounts.account('ann');
  const root = await superuserSdk(box.accounts.service);
  const filter = root.filter('recordRef = {:id}', { id });
  const count = async (): Promise<number> =>
    (await root.collection('_authOrigins').getFullList({ filter })).length;
  await Promise.all(Array.from({ length: 20 }, () => box.accounts.signIn(email)));
  await eventually('the place', async () => (await count()) === 1);
  await box.accounts.define({ authAlert: { enabled: false } });
  const bob = await box.accounts.account('bob');
  await box.settle('cid');
  assert.deepEqual(
    await root.collection('_authOrigins').getFullList({ filter: `recordRef = '${bob.id}'` }),
    [],
  );
  assert.equal(await count(), 1);
  assert.deepEqual(
    box.accounts.service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('the places of a superuser whom the operator deletes are forgotten', async (t) => {
  const { service } = (await Mailbox.open(t)).accounts;
  const root = await superuserSdk(service);
  const identity = 'second@example.com';
  await service.withInstance('default', (instance) => upsertSuperuser(instance, identity, password));
  const body = { identity, password };
  const signedIn = await service.request('/api/collections/_superusers/auth-with-password', {
    method: 'POST',
    body,
  });
  const filter = root.filter('recordRef = {:id}', { id: signedIn.json.record.id });
  const count = async (): Promise<number> =>
    (await root.collection('_authOrigins').getFullList({ filter })).length;
  await eventually('the place', async () => (await count()) === 1);
  await service.withInstance('default', (instance) => deleteSuperuser(instance, identity));
  assert.equal(await count(), 0);
});
