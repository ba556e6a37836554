// Both engines: codes are used up in a transaction.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { sql } from '../../src/sql/sql.ts';
import { codes, password, type Account } from '../support/accounts.ts';
import { Mailbox } from '../support/mailbox.ts';
import { superuserSdk } from '../support/sdk.ts';
import type { TestAnswer, TestServiceOptions } from '../support/service.ts';

const path = '/api/collections/users';

/** With one-time passwords, of as many digits as they must at least have, and no alerts. */
async function openMailbox(t: TestContext, options: TestServiceOptions = {}): Promise<Mailbox> {
  const box = await Mailbox.open(t, options);
  await box.accounts.define({ otp: { enabled: true, length: 4 }, authAlert: { enabled: false } });
  return box;
}

interface SentCode {
  readonly otpId: string;
  readonly code: string;
  /** One that it is not. */
  readonly wrong: string;
}

async function sendCode(box: Mailbox, { email }: Pick<Account, 'email'>): Promise<SentCode> {
  let otpId = '';
  const code = await box.codeOf(async () => (otpId = (await askCode(box, email)).json.otpId));
  return { otpId, code, wrong: String((Number(code) + 1) % 10_000).padStart(4, '0') };
}

function askCode({ accounts }: Mailbox, email: unknown): Promise<TestAnswer> {
  return accounts.ask('POST', `${path}/request-otp`, { body: { email } });
}

function useCode({ accounts }: Mailbox, otpId: unknown, given: unknown): Promise<TestAnswer> {
  return accounts.ask('POST', `${path}/auth-with-otp`, { body: { otpId, password: given } });
}

test('requestOTP() and authWithOTP() of the SDK sign an account in, once for each code', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann', { emailVisibility: true });
  await box.accounts.update(ann.id, { verified: true }, true);
  const pb = new PocketBase(box.accounts.service.url);
  let otpId = '';
  const mail = await box.mailOf(async () => ({ otpId } = await pb.collection('users').requestOTP(ann.email)));
  assert.deepEqual([mail.to, mail.parsed.subject], [[ann.email], 'Your Acme sign-in code']);
  const code = /<strong>(\d{4})<\/strong>/.exec(mail.html)?.[1] ?? '';
  const root = await superuserSdk(box.accounts.service);
  const [row] = await root.collection('_otps').getFullList();
  assert.deepEqual([row?.id, row?.['recordRef'], row?.['sentTo']], [otpId, ann.id, ann.email]);
  assert.equal(JSON.stringify(row).includes(code), false);
  const { record, token } = await pb.collection('users').authWithOTP(otpId, code);
  assert.deepEqual([record.id, token === pb.authStore.token], [ann.id, true]);
  assert.equal(await box.accounts.isIn(token), true);
  assert.equal(await box.accounts.isIn(ann.token), true);
  assert.deepEqual(await root.collection('_otps').getFullList(), []);
  const again = await useCode(box, otpId, code);
  assert.deepEqual([again.status, again.json.message], [400, 'Invalid or expired OTP.']);
  const { otp } = await pb.collection('users').listAuthMethods();
  assert.deepEqual(otp, { enabled: true, duration: 180 });
});

test('a code may be pasted with blanks and dashes in it', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const spellings = [
    (code: string) => ` ${code}\r\n`,
    (code: string) => `${code.slice(0, 2)} ${code.slice(2)}`,
    (code: string) => `${code.slice(0, 1)}-${code.slice(1, 3)}\u2013${code.slice(3)}\u00a0`,
  ];
  for (const spell of spellings) {
    // The address, too, is found in another letter case.
    const { otpId, code, wrong } = await sendCode(box, { email: ` ${ann.email.toUpperCase()} ` });
    assert.equal((await useCode(box, otpId, spell(wrong))).status, 400);
    assert.equal((await useCode(box, otpId, spell(code))).status, 200, spell(code));
  }
});

test('a code verifies an account that was not, and whoever had signed up with its address is out', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const { otpId, code } = await sendCode(box, ann);
  const { status, json } = await useCode(box, otpId, code);
  assert.deepEqual([status, json.record.verified], [200, true]);
  assert.equal(await box.accounts.isIn(json.token), true);
  assert.equal(await box.accounts.isIn(ann.token), false);
  assert.equal((await box.accounts.signIn(ann.email)).status, 400);
});

test('A-21 of fifty who use a code at once one is in', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  await box.accounts.update(ann.id, { verified: true }, true);
  const { otpId, code } = await sendCode(box, ann);
  const answers = await Promise.all(Array.from({ length: 50 }, () => useCode(box, otpId, code)));
  const inCount = answers.filter(({ status }) => status === 200).length;
  assert.equal(inCount, 1);
  for (const { status } of answers) assert.ok([200, 400, 429, 503].includes(status), String(status));
});

test('A-21 five wrong codes are the most, and the right one is not looked at then', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const first = await sendCode(box, ann);
  for (let count = 0; count < 5; count += 1) {
    const { status, json } = await useCode(box, first.otpId, first.wrong);
    assert.deepEqual([status, json.message], [400, 'Invalid or expired OTP.']);
  }
  const second = await sendCode(box, ann);
  for (const { otpId, code } of [first, second]) {
    const { status, json, headers } = await useCode(box, otpId, code);
    assert.deepEqual(
      [status, json.message, headers.get('retry-after')],
      [429, 'Too many attempts, please try again later with a new OTP.', '180'],
    );
  }
  box.clock.move(179_999);
  const third = await sendCode(box, ann);
  assert.equal((await useCode(box, third.otpId, third.code)).status, 429);
  box.clock.move(1);
  assert.equal((await useCode(box, third.otpId, third.code)).status, 200);
});

test('a stranger who is wrong on purpose does not keep the owner out', async (t) => {
  const box = await openMailbox(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const ann = await box.accounts.account('ann');
  const use = (from: string, { otpId }: SentCode, given: string): Promise<TestAnswer> =>
    box.accounts.service.request(`${path}/auth-with-otp`, {
      method: 'POST',
      headers: { 'x-forwarded-for': from },
      body: { otpId, password: given },
    });
  const strangers = await sendCode(box, ann);
  for (let count = 0; count < 6; count += 1) await use('192.0.2.1', strangers, strangers.wrong);
  const own = await sendCode(box, ann);
  assert.equal((await use('192.0.2.1', own, own.code)).status, 429);
  assert.equal((await use('203.0.113.7', own, own.code)).status, 200);
  // Many clients share the tries of a code, and those of an account.
  box.clock.move(180_000);
  let client = 0;
  for (let count = 0; count < 5; count += 1) {
    const sent = await sendCode(box, ann);
    for (let wrong = 0; wrong < 5; wrong += 1)
      assert.equal((await use(`198.51.100.${(client += 1)}`, sent, sent.wrong)).status, 400);
    assert.equal((await use(`198.51.100.${(client += 1)}`, sent, sent.code)).status, 429);
  }
  const last = await sendCode(box, ann);
  assert.equal((await use('203.0.113.7', last, last.code)).status, 429);
  box.clock.move(179_999);
  assert.equal((await use('203.0.113.7', last, last.code)).status, 429);
});

test('addresses that nobody has are answered alike, however often codes are asked for and guessed', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  const told: string[][] = [];
  for (const email of [ann.email, 'nobody@example.com']) {
    const ids: string[] = [];
    for (let count = 0; count < 12; count += 1) {
      const { status, json } = await askCode(box, email);
      assert.deepEqual([status, Object.keys(json)], [200, ['otpId']]);
      assert.match(json.otpId, /^[a-z0-9]{15}$/);
      ids.push(json.otpId);
    }
    // Beyond ten the last is told again.
    assert.deepEqual([new Set(ids).size, ids[10], ids[11]], [10, ids[9], ids[9]]);
    const answers: string[] = [];
    for (let count = 0; count < 3; count += 1)
      for (const id of [ids[0], ids[9], `${ids[0]?.slice(0, 5)}0123456789`]) {
        const { status, text, headers } = await useCode(box, id, 'abcd');
        answers.push(`${status} ${headers.get('retry-after')} ${text}`);
      }
    told.push(answers);
  }
  assert.deepEqual(told[0], told[1]);
  assert.match(told[0]?.at(-1) ?? '', /^429/);
  await box.sink.mail(9);
  await box.settle('bob');
  assert.equal(box.sink.mails.length, 11);
});

test('codes expire, and what has expired is taken away', async (t) => {
  const box = await openMailbox(t);
  const [ann, bob] = [await box.accounts.account('ann'), await box.accounts.account('bob')];
  const { otpId, code } = await sendCode(box, ann);
  box.clock.move(180_000);
  assert.equal((await useCode(box, otpId, code)).status, 400);
  await sendCode(box, bob);
  const kept = await box.accounts.service.withInstance('default', async ({ database }) => {
    const otps = await database.all(sql`SELECT id FROM ${database.names.collectionTable('_otps')}`);
    const secrets = await database.all(
      sql`SELECT record FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND collection = 'pbc_1638494021'`,
    );
    return [otps.length, secrets.length];
  });
  assert.deepEqual(kept, [1, 1]);
});

test('A-21 what is good for minutes is good for no hour because the clock is set back by one', async (t) => {
  const box = await openMailbox(t);
  const ann = await box.accounts.account('ann');
  await box.accounts.update(ann.id, { verified: true }, true);
  const { otpId, code, wrong } = await sendCode(box, ann);
  for (let count = 0; count < 5; count += 1) await useCode(box, otpId, wrong);
  const hourMs = 3_600_000;
  box.clock.move(-hourMs);
  assert.equal((await useCode(box, otpId, code)).status, 400);
  // A node whose clock is a little behind knows the codes of the others.
  const early = await sendCode(box, ann);
  box.clock.move(-60_000);
  assert.equal((await useCode(box, early.otpId, early.code)).status, 200);
  await box.accounts.define({ mfa: { enabled: true } });
  const { json } = await box.accounts.signIn(ann.email);
  box.clock.move(-hourMs);
  const second = await sendCode(box, ann);
  const late = await box.accounts.ask('POST', `${path}/auth-with-otp`, {
    body: { otpId: second.otpId, password: second.code, mfaId: json.mfaId },
  });
  assert.deepEqual([late.status, late.json.message], [400, 'Invalid or expired MFA session.']);
});

test('a code is good for its own collection, account and address, and with what the rule admits', async (t) => {
  const box = await openMailbox(t);
  const { accounts } = box;
  const members = { name: 'members', type: 'auth', createRule: '', otp: { enabled: true } };
  await accounts.ask('POST', '/api/collections', { token: true, body: members });
  const ann = await accounts.account('ann');
  const first = await sendCode(box, ann);
  const body = { otpId: first.otpId, password: first.code };
  const other = await accounts.ask('POST', '/api/collections/members/auth-with-otp', { body });
  assert.equal(other.status, 400);
  const made = { email: 'bob@example.com', password, passwordConfirm: password };
  const bob = await accounts.ask('POST', '/api/collections/members/records', { body: made });
  const row = { collectionRef: '_pb_users_auth_', recordRef: bob.json.id, password: '123456' };
  const given = await accounts.ask('POST', '/api/collections/_otps/records', { token: true, body: row });
  assert.deepEqual(codes(given), { recordRef: 'validation_invalid_record' });
  await accounts.update(ann.id, { email: 'ann@other.example' }, true);
  assert.equal((await useCode(box, first.otpId, first.code)).status, 400);
  await accounts.define({ authRule: "name = 'bob'" });
  const second = await sendCode(box, { email: 'ann@other.example' });
  assert.equal((await useCode(box, second.otpId, second.code)).status, 403);
  await accounts.define({ authRule: 'verified = true' });
  const third = await sendCode(box, { email: 'ann@other.example' });
  assert.equal((await useCode(box, third.otpId, third.code)).status, 200);
});

test('what cannot be a code is told by its member, and where they are off nothing is', async (t) => {
  const box = await openMailbox(t);
  for (const [otpId, given, expected] of [
    ['', '', { otpId: 'validation_required', password: 'validation_required' }],
    ['a'.repeat(256), '1', { otpId: 'validation_length_out_of_range' }],
    ['a', '1'.repeat(72), { password: 'validation_length_out_of_range' }],
  ] as const)
    assert.deepEqual(codes(await useCode(box, otpId, given)), expected);
  assert.equal(
    (await useCode(box, 5, [])).json.message,
    'An error occurred while loading the submitted data.',
  );
  assert.deepEqual(codes(await askCode(box, 'nobody')), { email: 'validation_is_email' });
  await box.accounts.define({ otp: { enabled: false } });
  const message = 'The collection is not configured to allow OTP authentication.';
  for (const answer of [await askCode(box, 'a@example.com'), await useCode(box, 'a', 'b')])
    assert.deepEqual([answer.status, answer.json.message], [403, message]);
});

test('superusers sign in by a code where they are allowed to', async (t) => {
  const box = await Mailbox.open(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const { accounts } = box;
  const superusers = '/api/collections/_superusers';
  await accounts.ask('PATCH', superusers, { token: true, body: { otp: { enabled: true } } });
  const { email } = accounts.service.superuser;
  let otpId = '';
  const code = await box.codeOf(async () => {
    const { json } = await accounts.ask('POST', `${superusers}/request-otp`, { body: { email } });
    ({ otpId } = json);
  });
  const change = { superuserIPs: ['127.0.0.1'] };
  await accounts.ask('PATCH', '/api/settings', { token: true, body: change });
  const body = { otpId, password: code };
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  const away = await accounts.service.request(`${superusers}/auth-with-otp`, {
    method: 'POST',
    headers,
    body,
  });
  assert.equal(away.status, 403);
  const { status, json } = await accounts.ask('POST', `${superusers}/auth-with-otp`, { body });
  assert.equal(status, 200);
  assert.equal((await accounts.ask('GET', '/api/settings', { token: json.token })).status, 200);
  // They were verified before, so that their password stays.
  assert.equal((await accounts.signIn(email, password, '_superusers')).status, 200);
});
