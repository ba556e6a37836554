import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { SmtpSink } from '../support/smtp-sink.ts';

function change(service: TestService, body: object): Promise<TestAnswer> {
  return service.request('/api/settings', { method: 'PATCH', token: true, body });
}

function testMail(service: TestService, body: object = {}): Promise<TestAnswer> {
  const whole = { email: 'ann@example.com', template: 'verification', ...body };
  return service.request('/api/settings/test/email', { method: 'POST', token: true, body: whole });
}

/** A service as operators run it, but for the one address that tests may reach. */
const production = { flags: { dev: 'false', 'allow-net': '127.0.0.1' } };

test('pb.settings.testEmail() sends each template to the mail server of the settings', async (t) => {
  const service = await startService(t, production);
  const sink = await SmtpSink.start(t);
  await sink.serve(service);
  const meta = { appName: 'Shop & Co', appURL: 'https://shop.example/', senderName: 'Der Laden "ß"' };
  await change(service, { meta: { ...meta, senderAddress: 'shop@shop.example' } });
  const pb = await superuserSdk(service);
  const expected = {
    verification: /href="https:\/\/shop\.example\/_\/#\/auth\/confirm-verification\/test-token"/,
    'password-reset': /confirm-password-reset\/test-token/,
    'email-change': /confirm-email-change\/test-token/,
    otp: /<strong>00000000<\/strong>/,
    'login-alert': /your Shop &amp; Co account/,
  };
  const textOf: Readonly<Record<string, RegExp>> = {
    verification: /<https:\/\/shop\.example\/_\/#\/auth\/confirm-verification\/test-token>/,
    'password-reset': /<https:\/\/shop\.example\/_\/#\/auth\/confirm-password-reset\/test-token>/,
    'email-change': /confirm-email-change\/test-token>\n\nIf you didn't request/,
    otp: /^Your one-time code is 00000000\n\n/,
    'login-alert': /your Shop & Co account from/,
  };
  for (const [template, pattern] of Object.entries(expected)) {
    assert.equal(await pb.settings.testEmail('users', 'ann@example.com', template), true);
    const { from, to, parsed, raw } = await sink.mail(sink.mails.length - 1);
    assert.deepEqual([from, to], ['shop@shop.example', ['ann@example.com']]);
    assert.deepEqual(parsed.from, { name: 'Der Laden "ß"', address: 'shop@shop.example' });
    assert.deepEqual(
      parsed.to?.map(({ address }) => address),
      ['ann@example.com'],
    );
    assert.match(parsed.html ?? '', pattern);
    assert.match(raw, /^Content-Type: multipart\/alternative;/m);
    assert.match(parsed.text ?? '', textOf[template] ?? /^$/);
    assert.doesNotMatch(parsed.subject ?? '', /[{}]/);
    assert.match(raw, /^Auto-Submitted: auto-generated\r$/m);
    assert.doesNotMatch(raw, /nodemailer|^x-mailer/im);
  }
  assert.equal((await sink.mail(0)).parsed.subject, 'Verify your email address for Shop & Co');
});

test('what cannot be tested is told by its member, and no mail is sent', async (t) => {
  const service = await startService(t, production);
  const sink = await SmtpSink.start(t);
  await sink.serve(service);
  const cases: readonly (readonly [object, string, string])[] = [
    [{ email: '' }, 'email', 'validation_required'],
    [{ email: 'nobody' }, 'email', 'validation_is_email'],
    [{ email: `${'a'.repeat(255)}@example.com` }, 'email', 'validation_length_out_of_range'],
    [{ email: 'a@example.com\r\nBcc: b@example.com' }, 'email', 'validation_is_email'],
    [{ email: 'a@example.com, b@example.com' }, 'email', 'validation_is_email'],
    [{ template: '' }, 'template', 'validation_required'],
    [{ template: 'nope' }, 'template', 'validation_in_invalid'],
    [{ collection: 'nope' }, 'collection', 'validation_invalid_auth_collection'],
    [{ collection: '_otps' }, 'collection', 'validation_invalid_auth_collection'],
  ];
  for (const [body, member, code] of cases) {
    const { status, json } = await testMail(service, body);
    assert.deepEqual(
      [status, json.message, Object.keys(json.data), json.data[member].code],
      [400, 'Failed to send the test email.', [member], code],
    );
  }
  const wrong = await testMail(service, { email: 5 });
  assert.deepEqual(
    [wrong.status, wrong.json.message],
    [400, 'An error occurred while loading the submitted data.'],
  );
  for (const token of [undefined, 'nonsense']) {
    const options = { method: 'POST', body: {}, ...(token && { token }) };
    assert.equal((await service.request('/api/settings/test/email', options)).status, 401);
  }
  assert.equal(sink.mails.length, 0);
});

test('without a mail server, and with one that refuses, is away or must not be reached, a test is a 400 that says so', async (t) => {
  const service = await startService(t, production);
  const refusal = async (): Promise<string> => {
    const { status, json } = await testMail(service);
    assert.equal(status, 400, JSON.stringify(json));
    return json.message;
  };
  assert.equal(
    await refusal(),
    'Failed to send the test email. No mail server is set up: settings.smtp is not enabled.',
  );
  const gone = await SmtpSink.start(t);
  await gone.serve(service);
  await gone.stop();
  assert.equal(await refusal(), 'Failed to send the test email. The connection was refused.');
  for (const host of ['127.0.0.2', '10.0.0.1', '169.254.169.254', '::1', '::ffff:10.0.0.1']) {
    await change(service, { smtp: { host } });
    assert.equal(
      await refusal(),
      'Failed to send the test email. This address is not allowed for a mail server.',
    );
  }
  const strict = await SmtpSink.start(t, {
    onRcptTo: ({ address }, _session, callback) =>
      callback(Object.assign(new Error(`no <${address}> here`), { responseCode: 550 })),
  });
  await strict.serve(service);
  assert.match(await refusal(), /did not accept the sender or the recipient\. It said: 550 no … here\.$/);
  const failures = service.log.filter(({ message }) => message === 'A mail was not sent.');
  assert.equal(failures.length, 8);
  assert.doesNotMatch(JSON.stringify(service.log), /ann@example\.com|test-token/);
  assert.equal((await service.request('/api/mails', { token: true })).status, 404);
});

test('a user name and password are sent as the settings say', async (t) => {
  const service = await startService(t, production);
  const seen: unknown[] = [];
  const sink = await SmtpSink.start(t, {
    authOptional: false,
    authMethods: ['PLAIN', 'LOGIN'],
    onAuth: ({ method, username, password }, _session, callback) => {
      seen.push([method, username, password]);
      if (password === 'right') callback(null, { user: username });
      else callback(new Error('Invalid credentials'));
    },
  });
  await sink.serve(service, { username: 'shop', password: 'right' });
  assert.equal((await testMail(service)).status, 204);
  await change(service, { smtp: { authMethod: 'LOGIN', password: 'wrong' } });
  const { json } = await testMail(service);
  assert.match(
    json.message,
    /did not accept the user name and password\. It said: 535 Invalid credentials\.$/,
  );
  assert.deepEqual(seen, [
    ['PLAIN', 'shop', 'right'],
    ['LOGIN', 'shop', 'wrong'],
  ]);
  assert.deepEqual(
    sink.mails.map(({ user }) => user),
    ['shop'],
  );
  assert.doesNotMatch(JSON.stringify(service.log), /right|"wrong"/);
});

test('line ends in names and subjects stay out of the headers, and values are no HTML', async (t) => {
  const service = await startService(t);
  const sink = await SmtpSink.start(t);
  await sink.serve(service);
  const evil = 'Shop\r\nBcc: eve@example.com\r\n\r\n<b>body</b>';
  assert.equal((await change(service, { meta: { appName: evil, senderName: evil } })).status, 200);
  const template = { subject: 'a {APP_NAME}', body: '{APP_NAME} {RECORD:name} {NOPE} {TOKEN}' };
  const body = { verificationTemplate: template };
  await service.request('/api/collections/users', { method: 'PATCH', token: true, body });
  assert.equal((await testMail(service, { collection: 'users' })).status, 204);
  const { to, parsed } = await sink.mail(0);
  assert.deepEqual(to, ['ann@example.com']);
  assert.equal(parsed.bcc, undefined);
  assert.equal(parsed.subject, 'a Shop Bcc: eve@example.com <b>body</b>');
  assert.equal(parsed.from?.name, 'Shop Bcc: eve@example.com <b>body</b>');
  assert.doesNotMatch(parsed.html ?? '', /<b>/);
  assert.match(parsed.html ?? '', /&lt;b&gt;body&lt;\/b&gt; name \{NOPE\} test-token/);
  assert.equal(parsed.text?.trim(), 'Shop Bcc: eve@example.com <b>body</b> name {NOPE} test-token');
});

test('what looks like an encoded word is read in a header as it was written', async (t) => {
  const service = await startService(t);
  const sink = await SmtpSink.start(t);
  await sink.serve(service);
  for (const word of ['=?utf-8?Q?=0D=0ABcc:_eve@example.com?=', '=?UTF-8?b?RXZl?=']) {
    assert.equal((await change(service, { meta: { appName: word, senderName: word } })).status, 200);
    for (const subject of ['{APP_NAME}', 'é {APP_NAME} é']) {
      const body = { verificationTemplate: { subject, body: 'x' } };
      await service.request('/api/collections/users', { method: 'PATCH', token: true, body });
      const count = sink.mails.length;
      assert.equal((await testMail(service, { collection: 'users' })).status, 204);
      const { parsed } = await sink.mail(count);
      const shown = word.replace('=?', '= ?');
      assert.deepEqual([parsed.subject, parsed.from?.name], [subject.replace('{APP_NAME}', shown), shown]);
    }
  }
});

test('a development server needs no mail server: mails are logged and shown to superusers', async (t) => {
  const service = await startService(t);
  assert.equal((await testMail(service)).status, 204);
  const { json } = await service.request('/api/mails', { token: true });
  assert.deepEqual([json.totalItems, json.items[0].to, json.items[0].result], [1, 'ann@example.com', 'kept']);
  assert.match(json.items[0].html, /test-token/);
  const logged = service.log.find(({ message }) => message.startsWith('A mail'));
  assert.match(String(logged?.members['html']), /test-token/);
  assert.equal((await service.request('/api/mails')).status, 401);
  assert.equal(
    (await service.request('/api/mails?fields=to', { token: true })).json.items[0].html,
    undefined,
  );
  await service.app.data.directory.create('other', null);
  await service.withInstance('other', async () => undefined);
  // A token of one instance is none in another.
  assert.equal((await service.request('/i/other/api/mails', { token: true })).status, 401);
});

test('the SDK is told what a mail server has against a mail', async (t) => {
  const service = await startService(t, production);
  const pb = await superuserSdk(service);
  const { status, message } = await refusalOf(pb.settings.testEmail('users', 'ann@example.com', 'otp'));
  assert.deepEqual([status, /No mail server is set up/.test(message)], [400, true]);
});
