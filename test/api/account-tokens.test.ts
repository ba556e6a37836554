// Both engines: a token is used up in a transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueToken } from '../../src/auth/tokens.ts';
import { withAuthCollection } from '../../src/auth/auth-collection.ts';
import type { TokenKind } from '../../src/collections/collection.ts';
import { codes, password } from '../support/accounts.ts';
import { Mailbox } from '../support/mailbox.ts';
import type { TestAnswer } from '../support/service.ts';

const path = '/api/collections/users';

test('A-20 of fifty who use the same token at once one sets a password', async (t) => {
  const box = await Mailbox.open(t);
  const ann = await box.accounts.account('ann');
  const body = { email: ann.email };
  const token = await box.tokenOf(() => box.accounts.ask('POST', `${path}/request-password-reset`, { body }));
  const tries = Array.from({ length: 50 }, (_, index) => `horse number ${index}`);
  const answers = await Promise.all(
    tries.map((given) =>
      box.accounts.ask('POST', `${path}/confirm-password-reset`, {
        body: { token, password: given, passwordConfirm: given },
      }),
    ),
  );
  const won = answers.flatMap(({ status }, index) => (status === 204 ? [tries[index]] : []));
  assert.equal(won.length, 1);
  for (const { status } of answers) assert.ok([204, 400, 503].includes(status), String(status));
  assert.equal((await box.accounts.signIn(ann.email, won[0])).status, 200);
});

test('a token is good for its own time, purpose, collection, address and account', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts, clock } = box;
  const members = { name: 'members', type: 'auth', createRule: '' };
  await accounts.ask('POST', '/api/collections', { token: true, body: members });
  const ann = await accounts.account('ann');
  const send = (name: string, email: string, collection = 'users'): Promise<string> =>
    box.tokenOf(() => accounts.ask('POST', `/api/collections/${collection}/${name}`, { body: { email } }));
  const verify = async (token: unknown, collection = 'users'): Promise<string> => {
    const asked = `/api/collections/${collection}/confirm-verification`;
    const answer = await accounts.ask('POST', asked, { body: { token } });
    if (answer.status === 204) return 'done';
    assert.equal(answer.status, 400, answer.text);
    return codes(answer)['token'] ?? answer.json.message;
  };
  const verification = await send('request-verification', ann.email);
  const reset = await send('request-password-reset', ann.email);
  const [head, payload = '', signature = ''] = verification.split('.');
  const forged = Buffer.from(payload, 'base64url').toString().replace('verification', 'passwordReset');
  for (const [token, code] of [
    [undefined, 'validation_required'],
    [null, 'validation_required'],
    ['', 'validation_required'],
    [5, 'An error occurred while loading the submitted data.'],
    [['a'], 'An error occurred while loading the submitted data.'],
    ['nonsense', 'validation_invalid_token'],
    ['a.b.c', 'validation_invalid_token'],
    [reset, 'validation_invalid_token'],
    [ann.token, 'validation_invalid_token_claims'],
    [`${head}.${payload}.${signature.split('').toReversed().join('')}`, 'validation_invalid_token'],
    [`${head}.${Buffer.from(forged).toString('base64url')}.${signature}`, 'validation_invalid_token'],
  ] as const)
    assert.equal(await verify(token), code, String(token));
  assert.equal(await verify(verification, 'members'), 'validation_token_collection_mismatch');
  for (const [collection, what] of [
    ['nope', 'collection'],
    ['_otps', 'auth collection'],
  ]) {
    const asked = `/api/collections/${collection}/confirm-verification`;
    const { status, json } = await accounts.ask('POST', asked, { body: { token: verification } });
    assert.deepEqual([status, json.message], [404, `Missing or invalid ${what} context.`]);
  }
  const confirm = (token: string): Promise<TestAnswer> =>
    accounts.ask('POST', `${path}/confirm-password-reset`, {
      body: { token, password: 'another horse', passwordConfirm: 'another horse' },
    });
  for (const token of [verification, ann.token])
    assert.deepEqual(codes(await confirm(token)), { token: 'validation_invalid_token' });
  // An address that a superuser has changed makes what was sent to the old one worthless.
  const bob = await accounts.account('bob');
  const token = await send('request-verification', bob.email);
  const change = await accounts.update(bob.id, { email: 'bob@other.example' }, true);
  assert.equal(change.status, 200);
  assert.equal(await verify(token), 'validation_invalid_token');
  clock.move(1_800_000);
  assert.deepEqual(codes(await confirm(reset)), { token: 'validation_invalid_token' });
  clock.move(86_400_000 - 1_800_000 - 1_000);
  assert.equal(await verify(verification), 'done');
  clock.move(1_000);
  assert.equal(await verify(verification), 'validation_invalid_token');
});

test('a confirmation reports what is wrong with all members of its form at once', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  const ann = await accounts.account('ann');
  const forms = [
    ['confirm-password-reset', {}, { token: 'required', password: 'required', passwordConfirm: 'required' }],
    [
      'confirm-password-reset',
      { token: 'x', password: '1', passwordConfirm: '2' },
      { token: 'invalid_token', password: 'min_text_constraint', passwordConfirm: 'values_mismatch' },
    ],
    ['confirm-email-change', { token: 'x' }, { token: 'invalid_token', password: 'required' }],
    ['confirm-verification', {}, { token: 'required' }],
  ] as const;
  for (const [name, body, expected] of forms) {
    const answer = await accounts.ask('POST', `${path}/${name}`, { body });
    const problems = Object.entries(expected).map(([member, code]) => [member, `validation_${code}`]);
    assert.deepEqual(codes(answer), Object.fromEntries(problems), name);
  }
  const request = { email: ann.email };
  const token = await box.tokenOf(() =>
    accounts.ask('POST', `${path}/request-password-reset`, { body: request }),
  );
  const refused = await accounts.ask('POST', `${path}/confirm-password-reset`, { body: { token } });
  assert.deepEqual(Object.keys(codes(refused)).toSorted(), ['password', 'passwordConfirm']);
});

test('A-15 whoever has found a mail does not find out the password by trying', async (t) => {
  const box = await Mailbox.open(t);
  const ann = await box.accounts.account('ann');
  const ask = (): Promise<unknown> =>
    box.accounts.ask('POST', `${path}/request-email-change`, {
      body: { newEmail: 'ann@new.example' },
      token: ann.token,
    });
  const token = await box.tokenOf(ask);
  const confirm = (given: string) =>
    box.accounts.ask('POST', `${path}/confirm-email-change`, { body: { token, password: given } });
  for (let count = 0; count < 20; count += 1) assert.equal((await confirm('wrong')).status, 400);
  assert.equal((await confirm(password)).status, 429);
  box.clock.move(5 * 60_000);
  assert.equal((await confirm(password)).status, 204);
});

test('what a token claims must be there, and be what the account and its collection allow', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  const ann = await accounts.account('ann');
  const issue = (kind: TokenKind, claims: object): Promise<string> =>
    accounts.service.withInstance('default', (instance) =>
      withAuthCollection(instance, 'users', (collection) =>
        issueToken(instance, { collection, id: ann.id, kind, claims: { ...claims } }),
      ),
    );
  const newEmail = 'ann@new.example';
  const cases: readonly (readonly [string, TokenKind, object, string])[] = [
    ['verification', 'verificationToken', {}, 'validation_invalid_token_claims'],
    ['verification', 'verificationToken', { email: 5 }, 'validation_invalid_token_claims'],
    ['verification', 'verificationToken', { email: 'bob@example.com' }, 'validation_token_email_mismatch'],
    ['email-change', 'emailChangeToken', { email: ann.email }, 'validation_invalid_token_payload'],
    ['email-change', 'emailChangeToken', { newEmail }, 'validation_invalid_token_payload'],
    [
      'email-change',
      'emailChangeToken',
      { email: 'bob@example.com', newEmail },
      'validation_invalid_token_email',
    ],
  ];
  for (const [name, kind, claims, code] of cases) {
    const body = { token: await issue(kind, claims), password };
    const answer = await accounts.ask('POST', `${path}/confirm-${name}`, { body });
    assert.deepEqual(codes(answer), { token: code }, JSON.stringify(claims));
  }
  const body = { token: await issue('emailChangeToken', { email: ann.email, newEmail }), password };
  const { json } = await accounts.ask('GET', path, { token: true });
  const given: readonly { readonly name: string }[] = json.fields;
  const fields = given.map((field) =>
    field.name === 'email' ? { ...field, onlyDomains: ['example.com'] } : field,
  );
  await accounts.define({ fields });
  const refused = await accounts.ask('POST', `${path}/confirm-email-change`, { body });
  assert.deepEqual(codes(refused), { token: 'validation_invalid_token_email' });
  const asked = await accounts.ask('POST', `${path}/request-email-change`, {
    body: { newEmail },
    token: ann.token,
  });
  assert.deepEqual(codes(asked), { newEmail: 'validation_email_domain_not_allowed' });
  assert.equal(await accounts.isIn(ann.token), true);
});
