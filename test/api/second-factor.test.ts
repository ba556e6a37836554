// Both engines: sessions are used up in a transaction.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { requireSecondFactor } from '../../src/auth/second-factor.ts';
import { withAuthCollection } from '../../src/auth/auth-collection.ts';
import { guest } from '../../src/access/caller.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { sql } from '../../src/sql/sql.ts';
import { type Account, password, users } from '../support/accounts.ts';
import { eventually } from '../support/eventually.ts';
import { Mailbox } from '../support/mailbox.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import type { TestAnswer } from '../support/service.ts';

const path = '/api/collections/users';

const strictRule = "@request.query.strict = 'true'";

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

/** As {@link beginWithPassword}, where the second factor is asked of who wants it. */
async function beginStrictly({ accounts }: Mailbox, identity: string, secret: string): Promise<void> {
  const body = { identity, password: secret };
  const { status } = await accounts.ask('POST', `${path}/auth-with-password?strict=true`, { body });
  assert.equal(status, 401);
}

/** Sessions that wait for their second factor. */
async function countWaiting({ accounts }: Mailbox, { id }: Account): Promise<number> {
  const filter = encodeURIComponent(`recordRef = '${id}'`);
  const { json } = await accounts.ask('GET', `/api/collections/_mfas/records?filter=${filter}`, {
    token: true,
  });
  return json.totalItems;
}

test('the SDK signs in with a password and then with a code, or the other way round', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  assert.equal(ann.token, '');
  const pb = new PocketBase(box.accounts.service.url);
  const accounts = pb.collection('users');
  assert.deepEqual((await accounts.listAuthMethods()).mfa, { enabled: true, duration: 600 });
  const first = await refusalOf(accounts.authWithPassword(ann.email, password));
  assert.equal(first.status, 401);
  const { otpId, code } = await sendCode(box, ann);
  const signedIn = await accounts.authWithOTP(otpId, code, { mfaId: first.response['mfaId'] });
  assert.deepEqual([signedIn.record.id, signedIn.record['verified']], [ann.id, true]);
  // With a second factor the password stays.
  const other = await sendCode(box, ann);
  const half = await refusalOf(accounts.authWithOTP(other.otpId, other.code));
  const query = { mfaId: half.response['mfaId'] };
  const again = await accounts.authWithPassword(ann.email, password, { query });
  assert.equal(again.record.id, ann.id);
  const root = await superuserSdk(box.accounts.service);
  // The one of the sign-in that came first of all; the others were used up.
  assert.equal((await root.collection('_mfas').getFullList()).length, 1);
});

test('who signs in for some fields only hears of the second factor all the same', async (t) => {
  const box = await openMailbox(t);
  const { email } = await box.accounts.account('ann');
  const accounts = new PocketBase(box.accounts.service.url).collection('users');
  const refusal = await refusalOf(accounts.authWithPassword(email, password, { fields: 'token,record.id' }));
  assert.deepEqual([refusal.status, Object.keys(refusal.response)], [401, ['mfaId']]);
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
  for (const unknown of ['nope', 'abcdefghij01234', 5, ['nope'], {}])
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
      const input = { ...ruleInputOfCaller(guest), body: { mfaId } };
      const shown = { collection, id: ann.id, method: 'otp', tokenKey: '' } as const;
      return Promise.allSettled(
        Array.from({ length: 10 }, () => requireSecondFactor(instance, input, shown)),
      );
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

test('A-21 the first code puts whoever had signed up with its address out, also where a second factor is asked for', async (t) => {
  const box = await openMailbox(t, { enabled: false });
  const { accounts } = box;
  // By the rule: what the code comes to, and what the password is good for then.
  const ends = [
    ["name = 'vip'", 200, 400],
    ['verified = true', 401, 401],
    ['', 401, 401],
  ] as const;
  for (const [index, [rule, byCode, byPassword]] of ends.entries()) {
    await accounts.define({ mfa: { enabled: false } });
    const squatter = await accounts.account(`squatter${index}`);
    await accounts.define({ mfa: { enabled: true, rule } });
    const used = await useCode(box, await sendCode(box, squatter));
    assert.equal(used.status, byCode, used.text);
    assert.equal(await accounts.isIn(squatter.token), false, rule);
    assert.equal((await accounts.signIn(squatter.email)).status, byPassword, rule);
    if (byCode === 200) assert.equal(await accounts.isIn(used.json.token), true);
  }
  // Who has both stays in: the owner, who began with the password.
  const ann = await accounts.account('ann');
  const mfaId = await beginWithPassword(box, ann);
  const { status, json } = await useCode(box, await sendCode(box, ann), mfaId);
  assert.deepEqual([status, json.record?.verified], [200, true]);
  assert.equal(await accounts.isIn(json.token), true);
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

test('A-21 whatever ends the sessions of an account ends those that wait for their second factor', async (t) => {
  const box = await openMailbox(t, { rule: strictRule });
  const { accounts } = box;
  const batch = { enabled: true };
  await accounts.ask('PATCH', '/api/settings', { token: true, body: { batch } });
  const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')];
  const account = `${users}/${ann.id}`;
  const another = { password: 'another horse', passwordConfirm: 'another horse' };
  const third = { password: 'a third horse', passwordConfirm: 'a third horse' };
  const inBatch = (item: object): Promise<TestAnswer> =>
    accounts.ask('POST', '/api/batch', { token: true, body: { requests: [item] } });
  let [email, secret] = [ann.email, password];
  await beginStrictly(box, bob.email, password);
  const ends = async (change: () => Promise<TestAnswer>, left = 0): Promise<void> => {
    await beginStrictly(box, email, secret);
    const answer = await change();
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([await countWaiting(box, ann), await countWaiting(box, bob)], [left, 1]);
  };
  await ends(() => accounts.update(ann.id, { name: 'Ann', emailVisibility: true }, true), 1);
  await ends(() => accounts.update(ann.id, { ...another, oldPassword: password }, ann.token));
  secret = another.password;
  await ends(() => accounts.update(ann.id, third, true));
  secret = third.password;
  await ends(() => accounts.update(ann.id, { email: 'ann@new.example' }, true));
  email = 'ann@new.example';
  await ends(() => accounts.update(ann.id, { 'tokenKey:autogenerate': '' }, true));
  await ends(() => inBatch({ method: 'PATCH', url: account, body: another }));
  secret = another.password;
  await ends(() => inBatch({ method: 'PUT', url: users, body: { id: ann.id, ...third } }));
});

test('A-21 a first factor is of no use behind a password that a superuser has changed since', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const mfaId = await beginWithPassword(box, ann);
  const sent = await sendCode(box, ann);
  const body = { password: 'another horse', passwordConfirm: 'another horse' };
  assert.equal((await box.accounts.update(ann.id, body, true)).status, 200);
  const answer = await useCode(box, sent, mfaId);
  assert.deepEqual([answer.status, answer.json.message], [400, 'Invalid or expired MFA session.']);
});

test('A-21 a new password of the command line ends a superuser’s sessions that wait as well', async (t) => {
  const box = await openMailbox(t);
  const { service } = box.accounts;
  const { email } = service.superuser;
  await box.accounts.ask('PATCH', '/api/collections/_superusers', {
    token: true,
    body: { otp: { enabled: true }, mfa: { enabled: true } },
  });
  const begun = await box.accounts.signIn(email, service.superuser.password, '_superusers');
  assert.equal(begun.status, 401);
  const waiting = await service.withInstance('default', async (instance) => {
    await upsertSuperuser(instance, email, 'another horse');
    return instance.database.all(sql`SELECT id FROM ${instance.database.names.collectionTable('_mfas')}`);
  });
  assert.deepEqual(waiting, []);
});

test('an account has at most ten sessions that wait, and sees its own', async (t) => {
  const box = await openMailbox(t, { rule: strictRule });
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
