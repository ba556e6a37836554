import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { askSecondFactor } from '../../src/auth/second-factor.ts';
import { withAuthCollection } from '../../src/auth/with-auth-collection.ts';
import { guest } from '../../src/rules/caller.ts';
import { factsOfCaller } from '../../src/rules/request-facts.ts';
import { password, type Account } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { Mailbox } from '../support/mailbox.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import type { TestAnswer } from '../support/service.ts';

const path = '/api/collections/users';

async function openMailbox(t: TestContext, mfa: object = {}): Promise<Mailbox> {
  const box = await Mailbox.open(t);
  const definition = {
    otp: { enabled: true },
    mfa: { enabled: true, ...mfa },
    authAlert: { enabled: false },
  };
  await box.accounts.define(definition);
  return box;
}

interface SentCode {
  readonly otpId: string;
  readonly code: string;
}

async function sendCode(box: Mailbox, { email }: Account): Promise<SentCode> {
  let otpId = '';
  const code = await box.codeOf(async () => {
    const { json } = await box.accounts.ask('POST', `${path}/request-otp`, { body: { email } });
    ({ otpId } = json);
  });
  return { otpId, code };
}

function useCode({ accounts }: Mailbox, sent: SentCode, mfaId?: unknown): Promise<TestAnswer> {
  const body = { otpId: sent.otpId, password: sent.code, mfaId };
  return accounts.ask('POST', `${path}/auth-with-otp`, { body });
}

/** The session that the first factor begins. */
async function beginWithPassword({ accounts }: Mailbox, { email }: Account): Promise<string> {
  const { status, json } = await accounts.signIn(email);
  assert.deepEqual([status, Object.keys(json)], [401, ['mfaId']]);
  return json.mfaId;
}

test('the SDK signs in with a password and then with a code, or the other way round', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  assert.equal(ann.token, '');
  const pb = new PocketBase(box.accounts.service.url);
  const users = pb.collection('users');
  assert.deepEqual((await users.listAuthMethods()).mfa, { enabled: true, duration: 600 });
  const first = await refusalOf(users.authWithPassword(ann.email, password));
  assert.equal(first.status, 401);
  const { otpId, code } = await sendCode(box, ann);
  const signedIn = await users.authWithOTP(otpId, code, { mfaId: first.response['mfaId'] });
  assert.deepEqual([signedIn.record.id, signedIn.record['verified']], [ann.id, true]);
  // With a second factor the password stays.
  const other = await sendCode(box, ann);
  const half = await refusalOf(users.authWithOTP(other.otpId, other.code));
  const query = { mfaId: half.response['mfaId'] };
  const again = await users.authWithPassword(ann.email, password, { query });
  assert.equal(again.record.id, ann.id);
  const root = await superuserSdk(box.accounts.service);
  // The one of the sign-in that came first of all; the others were used up.
  assert.equal((await root.collection('_mfas').getFullList()).length, 1);
});

test('A-21 a session is good for another method, for its own account, once, and for its time', async (t) => {
  const box = await openMailbox(t);
  const [ann, bob] = [await box.accounts.account('ann'), await box.accounts.account('bob')];
  const message = async (answer: Promise<TestAnswer>): Promise<string> => {
    const { status, json } = await answer;
    assert.equal(status, 400);
    return json.message;
  };
  const mfaId = await beginWithPassword(box, ann);
  const twice = box.accounts.ask('POST', `${path}/auth-with-password`, {
    body: { identity: ann.email, password, mfaId },
  });
  assert.equal(await message(twice), 'A different authentication method is required.');
  assert.equal(await message(useCode(box, await sendCode(box, bob), mfaId)), 'Invalid MFA session.');
  for (const unknown of ['nope', 'abcdefghij01234'])
    assert.equal(
      await message(useCode(box, await sendCode(box, ann), unknown)),
      'Invalid or expired MFA session.',
    );
  const sent = [await sendCode(box, ann), await sendCode(box, ann), await sendCode(box, ann)];
  const answers = await Promise.all(sent.map((each) => useCode(box, each, mfaId)));
  const statuses = answers.map(({ status }) => String(status)).toSorted();
  assert.deepEqual(statuses, ['200', '400', '400']);
  assert.equal(
    await message(useCode(box, await sendCode(box, ann), mfaId)),
    'Invalid or expired MFA session.',
  );
  const late = await beginWithPassword(box, ann);
  box.clock.move(600_000);
  assert.equal(
    await message(useCode(box, await sendCode(box, ann), late)),
    'Invalid or expired MFA session.',
  );
  // What has expired goes when another comes.
  await beginWithPassword(box, bob);
  const root = await superuserSdk(box.accounts.service);
  const rows = await root.collection('_mfas').getFullList();
  assert.deepEqual(
    rows.map((row) => [row['recordRef'], row['method']]),
    [[bob.id, 'password']],
  );
});

test('of ten who use a session at the same moment one is in', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const mfaId = await beginWithPassword(box, ann);
  // Past HTTP, and past the codes: their hashes would let one come after the other.
  const uses = await box.accounts.service.withInstance('default', (instance) =>
    withAuthCollection(instance, 'users', (collection) => {
      const facts = { ...factsOfCaller(guest), body: { mfaId } };
      const shown = { collection, id: ann.id, method: 'otp', tokenKey: '' } as const;
      return Promise.allSettled(Array.from({ length: 10 }, () => askSecondFactor(instance, facts, shown)));
    }),
  );
  assert.equal(uses.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('a second factor is asked of those of whom its rule is true', async (t) => {
  const box = await openMailbox(t, { rule: "name = 'ann'" });
  const [ann, bob] = [await box.accounts.account('ann'), await box.accounts.account('bob')];
  assert.equal(ann.token, '');
  assert.equal(await box.accounts.isIn(bob.token), true);
  // The rule of who may sign in comes first.
  await box.accounts.define({ authRule: "name != 'ann'" });
  assert.equal((await box.accounts.signIn(ann.email)).status, 403);
});

test('another password ends sessions that wait for their second factor', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const mfaId = await beginWithPassword(box, ann);
  const token = await box.tokenOf(() =>
    box.accounts.ask('POST', `${path}/request-password-reset`, { body: { email: ann.email } }),
  );
  const body = { token, password: 'another horse', passwordConfirm: 'another horse' };
  assert.equal((await box.accounts.ask('POST', `${path}/confirm-password-reset`, { body })).status, 204);
  assert.equal((await useCode(box, await sendCode(box, ann), mfaId)).status, 400);
});

test('an account has at most ten sessions that wait, and sees its own', async (t) => {
  const box = await openMailbox(t, { rule: "@request.query.strict = 'true'" });
  const ann = await box.accounts.account('ann');
  const body = { identity: ann.email, password };
  for (let count = 0; count < 12; count += 1)
    await box.accounts.ask('POST', `${path}/auth-with-password?strict=true`, { body });
  const { json } = await box.accounts.ask('GET', '/api/collections/_mfas/records', { token: ann.token });
  assert.equal(json.totalItems, 10);
  assert.equal((await box.accounts.ask('GET', '/api/collections/_mfas/records')).json.totalItems, 0);
});

test('the audit log tells a first factor from a sign-in, and by whom a code was tried', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const mfaId = await beginWithPassword(box, ann);
  const sent = await sendCode(box, ann);
  await useCode(box, { ...sent, code: 'nope' }, mfaId);
  assert.equal((await useCode(box, sent, mfaId)).status, 200);
  const filter = encodeURIComponent(`action = 'sign-in' && target = '${ann.id}'`);
  const found = await eventually('the entries', async () => {
    const { json } = await box.accounts.ask('GET', `/api/audit?filter=${filter}`, { token: true });
    return json.totalItems === 3 ? json.items : undefined;
  });
  const entries: readonly {
    readonly outcome: string;
    readonly count: number;
    readonly details: { readonly reason?: string };
  }[] = found;
  const told = entries.map(({ outcome, count, details }) => `${outcome} ${count} ${details.reason ?? ''}`);
  assert.deepEqual(told.toSorted(), ['done 1 ', 'refused 1 credentials', 'refused 2 second factor']);
});
