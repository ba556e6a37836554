// Both engines: links and sessions end in the transaction that verifies the account.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Account, password } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { Mailbox } from '../support/mailbox.ts';

const path = '/api/collections/users';

async function rowsOf(box: Mailbox, collection: string, { id }: Account): Promise<number> {
  const filter = encodeURIComponent(`recordRef = '${id}'`);
  const { json } = await box.accounts.ask('GET', `/api/collections/${collection}/records?filter=${filter}`, {
    token: true,
  });
  return json.totalItems;
}

/** Links an external account, as whoever has registered the address might. */
async function link(box: Mailbox, { id }: Account, providerId: string): Promise<void> {
  const { json } = await box.accounts.ask('GET', path, { token: true });
  const body = { collectionRef: json.id, recordRef: id, provider: 'x', providerId };
  const made = await box.accounts.ask('POST', '/api/collections/_externalAuths/records', {
    body,
    token: true,
  });
  assert.equal(made.status, 201, made.text);
}

test('an account that becomes verified loses the external logins that it had before, and their sessions', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  await accounts.define({ otp: { enabled: true } });
  const verify: Readonly<Record<string, (account: Account) => Promise<unknown>>> = {
    verification: async ({ email }) => {
      const token = await box.tokenOf(() =>
        accounts.ask('POST', `${path}/request-verification`, { body: { email } }),
      );
      return accounts.ask('POST', `${path}/confirm-verification`, { body: { token } });
    },
    reset: async ({ email }) => {
      const token = await box.tokenOf(() =>
        accounts.ask('POST', `${path}/request-password-reset`, { body: { email } }),
      );
      const body = { token, password: 'another horse', passwordConfirm: 'another horse' };
      return accounts.ask('POST', `${path}/confirm-password-reset`, { body });
    },
    superuser: ({ id }) => accounts.update(id, { verified: true }, true),
    code: async ({ email }) => {
      let otpId = '';
      const code = await box.codeOf(async () => {
        const answer = await accounts.ask('POST', `${path}/request-otp`, { body: { email } });
        otpId = answer.json.otpId;
      });
      return accounts.ask('POST', `${path}/auth-with-otp`, { body: { otpId, password: code } });
    },
  };
  for (const [name, run] of Object.entries(verify)) {
    const account = await accounts.account(name);
    await link(box, account, name);
    await run(account);
    const { json } = await accounts.ask('GET', `${path}/records/${account.id}`, { token: true });
    assert.equal(json.verified, true, name);
    assert.equal(await rowsOf(box, '_externalAuths', account), 0, name);
    assert.equal(await accounts.isIn(account.token), false, name);
  }
});

test('without external logins the sessions of an account go on when it is verified, and links of a verified one stay', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  const ann = await accounts.account('ann');
  await accounts.update(ann.id, { verified: true }, true);
  assert.equal(await accounts.isIn(ann.token), true);
  await link(box, ann, 'ann');
  await accounts.update(ann.id, { name: 'Ann', verified: true }, true);
  assert.equal(await rowsOf(box, '_externalAuths', ann), 1);
  assert.equal(await accounts.isIn(ann.token), true);
});

test('a new password forgets from where the account has signed in', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  const ann = await accounts.account('ann');
  await eventually('an origin', async () => (await rowsOf(box, '_authOrigins', ann)) === 1);
  const next = { oldPassword: password, password: 'another horse', passwordConfirm: 'another horse' };
  assert.equal((await accounts.update(ann.id, next, ann.token)).status, 200);
  assert.equal(await rowsOf(box, '_authOrigins', ann), 0);
  await accounts.signIn(ann.email, 'another horse');
  await eventually('an origin', async () => (await rowsOf(box, '_authOrigins', ann)) === 1);
  const token = await box.tokenOf(() =>
    accounts.ask('POST', `${path}/request-password-reset`, { body: { email: ann.email } }),
  );
  const body = { token, password: 'a third horse', passwordConfirm: 'a third horse' };
  assert.equal((await accounts.ask('POST', `${path}/confirm-password-reset`, { body })).status, 204);
  assert.equal(await rowsOf(box, '_authOrigins', ann), 0);
});
