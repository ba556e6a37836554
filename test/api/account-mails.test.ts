import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase, { getTokenPayload } from 'pocketbase';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { codes, password } from '../support/accounts.ts';
import { eventsOf } from '../support/events-of.ts';
import { eventually } from '../support/eventually.ts';
import { Mailbox } from '../support/mailbox.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer } from '../support/service.ts';

const path = '/api/collections/users';

test('requestVerification() and confirmVerification() of the SDK verify an account, once', async (t) => {
  const box = await Mailbox.open(t);
  const { service } = box.accounts;
  const ann = await box.accounts.account('ann');
  const pb = new PocketBase(service.url);
  await pb.collection('users').authWithPassword(ann.email, password);
  const mail = await box.mailOf(() => pb.collection('users').requestVerification(ann.email));
  assert.deepEqual(
    [mail.to, mail.parsed.subject],
    [['ann@example.com'], 'Verify your email address for Acme'],
  );
  const [, token = ''] =
    /href="http:\/\/localhost:8090\/_\/#\/auth\/confirm-verification\/([\w.-]+)"/.exec(mail.html) ?? [];
  const { id, type, email, exp } = getTokenPayload(token);
  assert.deepEqual([id, type, email], [ann.id, 'verification', ann.email]);
  assert.equal(exp, Math.floor(box.clock.now() / 1_000) + 86_400);
  assert.equal(await pb.collection('users').confirmVerification(token), true);
  assert.equal(pb.authStore.record?.['verified'], true);
  assert.equal((await pb.collection('users').getOne(ann.id))['verified'], true);
  // The session goes on: nothing was changed that it rests on.
  assert.equal(await box.accounts.isIn(ann.token), true);
  assert.equal(await pb.collection('users').confirmVerification(token), true);
  const events = await eventsOf(service, ann.id);
  assert.deepEqual(
    events.map(({ kind, data }) => [kind, data['verified']]),
    [
      ['record.create', false],
      ['record.update', true],
    ],
  );
  // Who is verified is sent nothing more.
  box.clock.move(3_600_000);
  await pb.collection('users').requestVerification(ann.email);
  await box.settle('bob');
  assert.equal(box.sink.mails.length, 2);
});

test('requestPasswordReset() and confirmPasswordReset() of the SDK set a password, verify, and end all sessions', async (t) => {
  const box = await Mailbox.open(t);
  const ann = await box.accounts.account('ann');
  const users = new PocketBase(box.accounts.service.url).collection('users');
  const token = await box.tokenOf(() => users.requestPasswordReset(ann.email));
  assert.equal(getTokenPayload(token)['exp'], Math.floor(box.clock.now() / 1_000) + 1_800);
  for (const [given, confirm, expected] of [
    ['', '', { password: 'validation_required', passwordConfirm: 'validation_required' }],
    ['another horse', 'another', { passwordConfirm: 'validation_values_mismatch' }],
    ['short', 'short', { password: 'validation_min_text_constraint' }],
    ['x'.repeat(513), 'x'.repeat(513), { password: 'validation_max_text_constraint' }],
  ] as const) {
    const { response } = await refusalOf(users.confirmPasswordReset(token, given, confirm));
    assert.equal(response['message'], 'An error occurred while validating the submitted data.');
    assert.deepEqual(
      Object.fromEntries(Object.entries(response['data']).map(([name, { code }]: any) => [name, code])), // oxlint-disable-line typescript/no-explicit-any
      expected,
    );
  }
  assert.equal(await users.confirmPasswordReset(token, 'another horse', 'another horse'), true);
  assert.equal(await box.accounts.isIn(ann.token), false);
  assert.equal((await box.accounts.signIn(ann.email)).status, 400);
  const again = await box.accounts.signIn(ann.email, 'another horse');
  assert.deepEqual([again.status, again.json.record.verified], [200, true]);
  const second = await refusalOf(users.confirmPasswordReset(token, 'a third horse', 'a third horse'));
  assert.equal(second.response['data'].token.code, 'validation_invalid_token');
});

test('requestEmailChange() and confirmEmailChange() of the SDK move an account to another address', async (t) => {
  const box = await Mailbox.open(t);
  const ann = await box.accounts.account('ann');
  const root = await superuserSdk(box.accounts.service);
  const users = await root.collections.getOne('users');
  const pb = new PocketBase(box.accounts.service.url);
  await pb.collection('users').authWithPassword(ann.email, password);
  const mail = await box.mailOf(() => pb.collection('users').requestEmailChange('ann@new.example'));
  assert.deepEqual(mail.to, ['ann@new.example']);
  const token = /confirm-email-change\/([\w.-]+)"/.exec(mail.html)?.[1] ?? '';
  const { email, newEmail, type } = getTokenPayload(token);
  assert.deepEqual([email, newEmail, type], [ann.email, 'ann@new.example', 'emailChange']);
  for (const [given, code] of [
    ['', 'validation_required'],
    ['wrong horse', 'validation_invalid_password'],
  ] as const) {
    const refusal = await refusalOf(pb.collection('users').confirmEmailChange(token, given));
    assert.equal(refusal.response['data'].password.code, code);
  }
  const external = { collectionRef: users.id, recordRef: ann.id, provider: 'x', providerId: 'y' };
  await root.collection('_externalAuths').create(external);
  assert.equal(await pb.collection('users').confirmEmailChange(token, password), true);
  assert.deepEqual(await root.collection('_externalAuths').getFullList(), []);
  assert.equal(await box.accounts.isIn(ann.token), false);
  assert.equal((await box.accounts.signIn(ann.email)).status, 400);
  const { status, json } = await box.accounts.signIn('ann@new.example');
  assert.deepEqual([status, json.record.verified, json.record.email], [200, true, 'ann@new.example']);
  const second = await refusalOf(pb.collection('users').confirmEmailChange(token, password));
  assert.equal(second.response['data'].token.code, 'validation_invalid_token');
});

test('A-19 the answer comes before anything is looked for, and is the same for addresses that nobody has', async (t) => {
  const { databases, wrapDatabase } = faultyDatabases();
  const flags = { 'trusted-proxies': '127.0.0.1' };
  const box = await Mailbox.open(t, { parts: { wrapDatabase }, flags });
  await box.accounts.account('ann');
  const [database] = databases;
  assert.ok(database !== undefined);
  const release = database.holdReads('"email"');
  t.after(release);
  const texts = new Set<string>();
  for (const name of ['request-verification', 'request-password-reset'])
    for (const email of ['ann@example.com', 'nobody@example.com']) {
      const { status, text, headers } = await box.accounts.ask('POST', `${path}/${name}`, {
        body: { email },
      });
      const told = [...headers].filter(([header]) => !['x-request-id', 'date'].includes(header));
      texts.add(JSON.stringify([status, text, told]));
    }
  assert.equal(texts.size, 1);
  assert.match([...texts][0] ?? '', /^\[204,"",/);
  await eventually('the first to be looked for', () => database.heldCount > 0);
  assert.equal(box.sink.mails.length, 0);
  // More than may wait are refused alike, before they are looked for as well. No client may ask for as many.
  const more = Array.from({ length: 220 }, (_, index) =>
    box.accounts.service.request(`${path}/request-verification`, {
      method: 'POST',
      headers: { 'x-forwarded-for': `192.0.2.${index}` },
      body: { email: `nobody${index}@example.com` },
    }),
  );
  const answers = await Promise.all(more);
  const refused = answers.filter(({ status }) => status !== 204);
  assert.ok(refused.length > 0 && refused.length < 25, String(refused.length));
  for (const { status, headers } of refused)
    assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
  release();
  await box.sink.mail(1);
  await box.settle('bob');
  assert.deepEqual(
    box.sink.mails.map(({ to }) => to[0]),
    ['ann@example.com', 'ann@example.com', 'bob@example.com'],
  );
});

test('the same mail is not sent again within two minutes, and at once if it could not be sent', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts, sink, clock } = box;
  const { email } = await accounts.account('ann');
  const ask = async (name: string): Promise<void> => {
    const answer = await accounts.ask('POST', `${path}/${name}`, { body: { email } });
    assert.equal(answer.status, 204);
  };
  await box.mailOf(() => ask('request-password-reset'));
  clock.move(119_999);
  await ask('request-password-reset');
  await box.mailOf(() => ask('request-verification'));
  await box.settle('bob');
  assert.equal(sink.mails.length, 3);
  clock.move(1);
  await box.mailOf(() => ask('request-password-reset'));
  await accounts.service.request('/api/settings', {
    method: 'PATCH',
    token: true,
    body: { smtp: { port: 1 } },
  });
  clock.move(120_000);
  const failures = (): number => accounts.service.log.filter(({ level }) => level === 'warn').length;
  for (const count of [1, 2]) {
    await ask('request-password-reset');
    await eventually('a failure in the log', () => failures() === count);
  }
  const failure = accounts.service.log.find(({ level }) => level === 'warn');
  assert.deepEqual(
    [failure?.members['purpose'], failure?.members['reason']],
    ['password-reset', 'The connection was refused.'],
  );
  await sink.serve(accounts.service);
  await box.mailOf(() => ask('request-password-reset'));
});

test('only an account itself asks for another address, for one that nobody has, and not without end', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts, sink, clock } = box;
  await accounts.ask('POST', '/api/collections', {
    token: true,
    body: { name: 'members', type: 'auth', createRule: '' },
  });
  const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')];
  const ask = (newEmail: unknown, token: true | string | undefined, collection = 'users') =>
    accounts.ask('POST', `/api/collections/${collection}/request-email-change`, {
      body: { newEmail },
      token,
    });
  const message = async (...asked: Parameters<typeof ask>): Promise<readonly unknown[]> => {
    const { status, json } = await ask(...asked);
    return [status, json.message];
  };
  const unknown = 'The request requires valid record authorization token.';
  assert.deepEqual(await message('a@b.example', undefined), [401, unknown]);
  const other = 'The request requires auth record from members collection.';
  assert.deepEqual(await message('a@b.example', ann.token, 'members'), [403, other]);
  assert.equal((await ask('a@b.example', true)).status, 403);
  const direct = 'All superusers can change their emails directly.';
  assert.deepEqual(await message('a@b.example', true, '_superusers'), [400, direct]);
  for (const [given, code] of [
    ['', 'validation_required'],
    ['nobody', 'validation_is_email'],
    ['a@b.example\r\nBcc: c@d.example', 'validation_is_email'],
    [ann.email, 'validation_not_in_invalid'],
    [bob.email, 'validation_invalid_new_email'],
  ] as const)
    assert.deepEqual(codes(await ask(given, ann.token)), { newEmail: code }, given);
  assert.equal(sink.mails.length, 0);
  const taken = await box.tokenOf(() => ask('cid@example.com', ann.token));
  await accounts.account('cid');
  const body = { token: taken, password };
  const late = await accounts.ask('POST', `${path}/confirm-email-change`, { body });
  assert.deepEqual(codes(late), { token: 'validation_invalid_token_email' });
  assert.equal(await accounts.isIn(ann.token), true);
  // One more was asked for above than was sent.
  for (let count = 2; count < 10; count += 1)
    assert.equal((await ask(`ann${count}@new.example`, ann.token)).status, 204, String(count));
  const refused = await ask('ann10@new.example', ann.token);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '3600']);
  assert.equal((await ask('bob@new.example', bob.token)).status, 204);
  clock.move(3_600_000);
  assert.equal((await ask('ann10@new.example', ann.token)).status, 204);
});

test('superusers are verified, change their address themselves, and reset a forgotten password', async (t) => {
  const box = await Mailbox.open(t);
  const { service } = box.accounts;
  const superusers = '/api/collections/_superusers';
  for (const [name, message] of [
    ['request-verification', 'All superusers are verified by default.'],
    ['confirm-verification', 'All superusers are verified by default.'],
    ['confirm-email-change', 'All superusers can change their emails directly.'],
  ]) {
    const { status, json } = await box.accounts.ask('POST', `${superusers}/${name}`, { body: {} });
    assert.deepEqual([status, json.message], [400, message]);
  }
  const { email } = service.superuser;
  const token = await box.tokenOf(() =>
    box.accounts.ask('POST', `${superusers}/request-password-reset`, { body: { email } }),
  );
  const body = { token, password: 'another horse', passwordConfirm: 'another horse' };
  assert.equal(
    (await box.accounts.ask('POST', `${superusers}/confirm-password-reset`, { body })).status,
    204,
  );
  const signedIn = await box.accounts.signIn(email, 'another horse', '_superusers');
  assert.equal(signedIn.status, 200);
  assert.equal((await service.request('/api/settings', { token: true })).status, 401);
  const query = "/api/audit?filter=(action='superuser.update')";
  const audit = await service.request(query, { token: String(signedIn.json.token) });
  const [{ actor, address, target, details }] = audit.json.items;
  assert.deepEqual([actor, address, target], ['guest', '127.0.0.1', signedIn.json.record.id]);
  assert.deepEqual(details, { changed: ['secrets'] });
});

test('superusers from another place than the settings say reset nothing', async (t) => {
  const box = await Mailbox.open(t, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const { service } = box.accounts;
  const change = { superuserIPs: ['127.0.0.1'] };
  await service.request('/api/settings', { method: 'PATCH', token: true, body: change });
  for (const name of ['request-password-reset', 'confirm-password-reset']) {
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const options = { method: 'POST', headers, body: { email: service.superuser.email } };
    const { status } = await service.request(`/api/collections/_superusers/${name}`, options);
    assert.equal(status, 403, name);
  }
});

test('where nobody signs in with a password none is reset, also with a mail of before', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  const { email, token: session } = await accounts.account('ann');
  const request = (): Promise<TestAnswer> =>
    accounts.ask('POST', `${path}/request-password-reset`, { body: { email } });
  const token = await box.tokenOf(request);
  const confirm = (): Promise<TestAnswer> =>
    accounts.ask('POST', `${path}/confirm-password-reset`, {
      body: { token, password: 'another horse', passwordConfirm: 'another horse' },
    });
  await accounts.define({ passwordAuth: { enabled: false } });
  for (const ask of [request, confirm]) {
    const answer = await ask();
    assert.deepEqual(
      [answer.status, answer.json.message],
      [400, 'The collection is not configured to allow password authentication.'],
    );
  }
  assert.equal(await accounts.isIn(session), true);
  await accounts.define({ passwordAuth: { enabled: true } });
  assert.equal((await confirm()).status, 204);
});

test('what a mail tells of an account is what the account sees of itself', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts } = box;
  const { json } = await accounts.ask('GET', '/api/collections/users', { token: true });
  const secret = { name: 'note', type: 'text', hidden: true };
  const fields = [...json.fields, secret, { name: 'level', type: 'number' }];
  const body =
    '{RECORD:name}|{RECORD:note}|{RECORD:password}|{RECORD:tokenKey}|{RECORD:level}|{RECORD:email}|{TOKEN}';
  await accounts.define({ fields, verificationTemplate: { subject: 'Hello {RECORD:name}', body } });
  const name = '<a href="http://evil.example/">{TOKEN}</a>\r\nBcc: eve@example.com';
  const made = {
    email: 'ann@example.com',
    password,
    passwordConfirm: password,
    name,
    note: 'canary',
    level: 3,
  };
  const { id } = (await accounts.ask('POST', `${path}/records`, { token: true, body: made })).json;
  assert.ok(id !== undefined);
  const mail = await box.mailOf(() =>
    accounts.ask('POST', `${path}/request-verification`, { body: { email: 'ann@example.com' } }),
  );
  assert.deepEqual([mail.to, mail.parsed.bcc], [['ann@example.com'], undefined]);
  assert.match(
    mail.html,
    /^&lt;a href=&quot;http:\/\/evil\.example\/&quot;&gt;\{TOKEN\}&lt;\/a&gt;\s+Bcc: eve@example\.com\|\|\|\|3\|ann@example\.com\|ey/,
  );
  assert.equal(mail.parsed.subject, 'Hello <a href="http://evil.example/">{TOKEN}</a> Bcc: eve@example.com');
});

test('a stop lets what was asked for be sent, and an instance without a mail server says so in the log', async (t) => {
  const box = await Mailbox.open(t);
  const { accounts, sink } = box;
  const { email } = await accounts.account('ann');
  await accounts.ask('POST', `${path}/request-verification`, { body: { email } });
  await accounts.service.stop();
  assert.deepEqual(
    sink.mails.map(({ to }) => to[0]),
    [email],
  );
  const service = await startService(t, { flags: { dev: 'false' } });
  const body = { email: service.superuser.email };
  const reset = '/api/collections/_superusers/request-password-reset';
  assert.equal((await service.request(reset, { method: 'POST', body })).status, 204);
  await service.stop();
  const told = service.log.find(({ message }) => message === 'A mail was not sent.');
  assert.equal(told?.members['reason'], 'No mail server is set up: settings.smtp is not enabled.');
});
