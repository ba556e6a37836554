// Both engines: settings are changed under locks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startBatchService, sendBatch } from '../support/send-batch.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

function change(service: TestService, body: unknown): Promise<TestAnswer> {
  return service.request('/api/settings', { method: 'PATCH', token: true, body });
}

/** What is refused of a change, as it is answered. */
async function problemsOf(service: TestService, body: unknown): Promise<TestAnswer['json']> {
  const { status, json } = await change(service, body);
  assert.equal(status, 400, JSON.stringify(body));
  assert.equal(json.message, 'An error occurred while saving the new settings.');
  return json.data;
}

/** Of the only problem, its place and code. */
async function problemOf(service: TestService, body: unknown): Promise<readonly [string, string]> {
  const path: string[] = [];
  let at = await problemsOf(service, body);
  while (typeof at.code !== 'string') {
    const [name = '', ...others] = Object.keys(at);
    assert.deepEqual(others, [], JSON.stringify(at));
    path.push(name);
    at = at[name];
  }
  return [path.join('.'), at.code];
}

test('section 17: settings are there from the start, in this order, without secrets, and for superusers only', async (t) => {
  const service = await startService(t);
  const s3 = '{"enabled":false,"bucket":"","region":"","endpoint":"","accessKey":"","forcePathStyle":false}';
  const expected =
    '{"superuserIPs":[],"smtp":{"enabled":false,"port":587,"host":"smtp.example.com","username":"","authMethod":"","tls":false,"localName":""},' +
    `"backups":{"cron":"","cronMaxKeep":3,"s3":${s3}},"s3":${s3},` +
    '"meta":{"accentColor":"#1055c9","appName":"Acme","appURL":"http://localhost:8090","senderName":"Support","senderAddress":"support@example.com","hideControls":false,"frameAncestors":[]},' +
    '"rateLimits":{"rules":[{"label":"*:auth","audience":"","duration":3,"maxRequests":2},{"label":"*:create","audience":"","duration":5,"maxRequests":20},' +
    '{"label":"/api/batch","audience":"","duration":1,"maxRequests":3},{"label":"/api/","audience":"","duration":10,"maxRequests":300}],"excludedIPs":[],"enabled":false},' +
    '"trustedProxy":{"headers":[],"useLeftmostIP":false},"batch":{"enabled":true,"maxRequests":50,"timeout":3,"maxBodySize":0},' +
    '"logs":{"maxDataSize":0,"maxDays":5,"minLevel":0,"logIP":true,"logAuthId":false},"webhooks":{"events":"always","accountEndpointsMax":200,"verifyAccountEndpoints":true},"portal":{"name":"","logo":"","accentColor":"","theme":"auto","returnUrl":""}}';
  assert.equal((await service.request('/api/settings', { token: true })).text, expected);
  assert.equal((await change(service, {})).text, expected);
  for (const method of ['GET', 'PATCH'])
    assert.equal((await service.request('/api/settings', { method })).status, 401, method);
});

test('a change goes member by member, lists as a whole, and what is null or refused changes nothing', async (t) => {
  const service = await startService(t);
  const { json: before } = await service.request('/api/settings', { token: true });
  const given = {
    meta: { appName: 'Shop' },
    rateLimits: { rules: [{ label: 'GET /api/x', maxRequests: 1, duration: 2, audience: '@auth' }] },
    logs: null,
    batch: { maxRequests: null },
  };
  const { status, json } = await change(service, given);
  assert.equal(status, 200);
  const expected = structuredClone(before);
  expected.meta.appName = 'Shop';
  expected.rateLimits.rules = [{ label: 'GET /api/x', audience: '@auth', duration: 2, maxRequests: 1 }];
  assert.deepEqual(json, expected);
  assert.notEqual((await change(service, { meta: { appName: '' }, logs: { maxDays: 9 } })).status, 200);
  assert.deepEqual((await service.request('/api/settings', { token: true })).json, expected);
  assert.equal(
    (await service.request('/api/settings?fields=meta.appName', { token: true })).text,
    '{"meta":{"appName":"Shop"}}',
  );
});

test('a member that settings do not have is refused at its place, with the name that was probably meant', async (t) => {
  const service = await startService(t);
  const { text: before } = await service.request('/api/settings', { token: true });
  const told = (expected: string): object => ({
    code: 'validation_unknown_field',
    message: `There is no such member. ${expected}`,
  });
  const appName = 'Shop';
  const cases: readonly (readonly [object, object])[] = [
    [{ metas: { appName } }, { metas: told('Did you mean meta?') }],
    [{ meta: { appName, appUrls: 'x' } }, { meta: { appUrls: told('Did you mean appURL?') } }],
    [{ backups: { S3: {} } }, { backups: { S3: told('Did you mean s3?') } }],
    [
      { meta: { appName }, backups: { s3: { secrets: 'x' } } },
      { backups: { s3: { secrets: told('Did you mean secret?') } } },
    ],
    [
      { rateLimits: { rules: [{ label: '/api/', requests: 1 }] } },
      {
        rateLimits: { rules: { 0: { requests: told('Expected label, audience, duration, maxRequests.') } } },
      },
    ],
    [
      { trustedProxy: { nothing: null } },
      { trustedProxy: { nothing: told('Expected headers, useLeftmostIP.') } },
    ],
  ];
  for (const [body, expected] of cases) assert.deepEqual(await problemsOf(service, body), expected);
  for (const name of ['constructor', 'toString', 'x'.repeat(1_000)])
    assert.deepEqual(Object.keys(await problemsOf(service, { [name]: {} })), [name]);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`member${index}`, 1]));
  assert.equal(Object.keys(await problemsOf(service, many)).length, 20);
  assert.equal((await service.request('/api/settings', { token: true })).text, before);
});

test('what makes no sense is told by its place, with the codes of section 20', async (t) => {
  const service = await startService(t);
  const rule = { label: '/api/', audience: '', duration: 1, maxRequests: 1 };
  const rules = (...given: readonly unknown[]): object => ({ rateLimits: { rules: given } });
  const cases: readonly (readonly [object, string, string])[] = [
    [{ meta: 5 }, 'meta', 'validation_unsupported_value_type'],
    [{ meta: { appName: 5 } }, 'meta.appName', 'validation_unsupported_value_type'],
    [{ meta: { appName: '' } }, 'meta.appName', 'validation_required'],
    [{ meta: { appName: 'a'.repeat(256) } }, 'meta.appName', 'validation_length_out_of_range'],
    [{ meta: { appName: 'a'.repeat(2_001) } }, 'meta.appName', 'validation_length_out_of_range'],
    [{ meta: { appURL: 'x' } }, 'meta.appURL', 'validation_is_url'],
    [{ meta: { senderAddress: 'x' } }, 'meta.senderAddress', 'validation_is_email'],
    [{ meta: { accentColor: '#fff' } }, 'meta.accentColor', 'validation_length_invalid'],
    [{ meta: { accentColor: '#12345g' } }, 'meta.accentColor', 'validation_is_hex_color'],
    [{ superuserIPs: [''] }, 'superuserIPs.0', 'validation_required'],
    [{ smtp: { port: 1.5 } }, 'smtp.port', 'validation_only_int_constraint'],
    [{ smtp: { port: 65_536 } }, 'smtp.port', 'validation_max_less_equal_than_required'],
    [{ smtp: { enabled: true, port: 0 } }, 'smtp.port', 'validation_required'],
    [{ smtp: { enabled: true, host: '' } }, 'smtp.host', 'validation_required'],
    [{ smtp: { host: 'a b' } }, 'smtp.host', 'validation_is_host'],
    [{ smtp: { localName: 'a/b' } }, 'smtp.localName', 'validation_is_host'],
    [{ smtp: { authMethod: 'X' } }, 'smtp.authMethod', 'validation_in_invalid'],
    [{ backups: { cron: 'x' } }, 'backups.cron', 'validation_invalid_cron'],
    [{ backups: { cron: '60 * * * *' } }, 'backups.cron', 'validation_invalid_cron'],
    [{ backups: { cron: '0 0 * * *', cronMaxKeep: 0 } }, 'backups.cronMaxKeep', 'validation_required'],
    [{ backups: { s3: { endpoint: 'a b' } } }, 'backups.s3.endpoint', 'validation_is_url'],
    [
      { s3: { enabled: true, bucket: 'files', region: 'r', endpoint: 'e.example', accessKey: 'k' } },
      's3.secret',
      'validation_required',
    ],
    [{ superuserIPs: ['127.0.0.1', 'x'] }, 'superuserIPs.1', 'validation_invlaid_ip_or_subnet'],
    [{ superuserIPs: [5] }, 'superuserIPs.0', 'validation_unsupported_value_type'],
    [{ superuserIPs: 'x' }, 'superuserIPs', 'validation_unsupported_value_type'],
    [
      { superuserIPs: Array.from({ length: 201 }, () => '127.0.0.1') },
      'superuserIPs',
      'validation_length_too_long',
    ],
    [
      { rateLimits: { excludedIPs: ['10.0.0.1/8'] } },
      'rateLimits.excludedIPs.0',
      'validation_invlaid_ip_or_subnet',
    ],
    [{ rateLimits: { enabled: true, rules: [] } }, 'rateLimits.rules', 'validation_required'],
    [rules(5), 'rateLimits.rules.0', 'validation_unsupported_value_type'],
    [rules({ ...rule, label: '' }), 'rateLimits.rules.0.label', 'validation_required'],
    [rules({ ...rule, label: 'a b' }), 'rateLimits.rules.0.label', 'validation_match_invalid'],
    [rules({ ...rule, label: 'a\n' }), 'rateLimits.rules.0.label', 'validation_match_invalid'],
    [rules({ ...rule, audience: 'x' }), 'rateLimits.rules.0.audience', 'validation_in_invalid'],
    [rules({ ...rule, duration: 0 }), 'rateLimits.rules.0.duration', 'validation_required'],
    [
      rules({ ...rule, maxRequests: -1 }),
      'rateLimits.rules.0.maxRequests',
      'validation_min_greater_equal_than_required',
    ],
    [
      rules({ ...rule, duration: 86_401 }),
      'rateLimits.rules.0.duration',
      'validation_max_less_equal_than_required',
    ],
    [rules(rule, rule), 'rateLimits.rules.1.label', 'validation_conflicting_rate_limit_rule'],
    [
      rules({ ...rule, audience: '@auth' }, rule),
      'rateLimits.rules.1.label',
      'validation_conflicting_rate_limit_rule',
    ],
    [{ trustedProxy: { headers: ['a b'] } }, 'trustedProxy.headers.0', 'validation_match_invalid'],
    [{ batch: { maxRequests: 0 } }, 'batch.maxRequests', 'validation_required'],
    [{ batch: { maxRequests: 1_001 } }, 'batch.maxRequests', 'validation_max_less_equal_than_required'],
    [{ batch: { timeout: 11 } }, 'batch.timeout', 'validation_max_less_equal_than_required'],
    [{ batch: { maxBodySize: -1 } }, 'batch.maxBodySize', 'validation_min_greater_equal_than_required'],
    [{ logs: { maxDays: -1 } }, 'logs.maxDays', 'validation_min_greater_equal_than_required'],
    [{ logs: { maxDataSize: -1 } }, 'logs.maxDataSize', 'validation_min_greater_equal_than_required'],
  ];
  for (const [body, place, code] of cases) assert.deepEqual(await problemOf(service, body), [place, code]);
  const several = await problemsOf(service, { meta: { appName: '', appURL: 'x' }, logs: { maxDays: -1 } });
  assert.deepEqual(Object.keys(several), ['meta', 'logs']);
  assert.deepEqual(several.meta.appName, { code: 'validation_required', message: 'Cannot be blank.' });
  const good = [
    { backups: { cron: '*/5 0-6,12 1 * 1-5' } },
    { backups: { cron: '@daily' } },
    rules({ ...rule, audience: '@auth' }, { ...rule, audience: '@guest' }, { ...rule, label: 'users:auth' }),
    rules({ ...rule, label: 'POST /api/' }, { ...rule, label: '*:list' }, { ...rule, label: 'tag' }),
    { smtp: { host: '::1' } },
  ];
  for (const body of good) assert.equal((await change(service, body)).status, 200, JSON.stringify(body));
  for (const body of ['[]', '5', '"x"', 'null'])
    assert.equal((await change(service, body)).status, 400, body);
});

test('settings of S3 that could change the host, the path or a header of requests are refused at their place', async (t) => {
  const service = await startService(t);
  const parts = ['/', '\\', '?', '#', '@', ':', '%2f', '..', ' ', '\n', '\u0001', '\u007f', '\u202e', 'é'];
  const buckets = ['..', '.', 'ab', 'a'.repeat(256), '-files', 'files-', 'Files', 'a_b', '[::1]'];
  for (const bucket of [...buckets, ...parts.map((part) => `acme${part}files`)])
    for (const s3 of [{ bucket }, { bucket, enabled: true }])
      for (const body of [{ s3 }, { backups: { s3 } }]) {
        const [at] = Object.keys(body);
        const problems = await problemsOf(service, body);
        const { code, message } = at === 's3' ? problems.s3.bucket : problems.backups.s3.bucket;
        assert.equal(code, 'validation_invalid_value', JSON.stringify(body));
        assert.match(message, /^Must be the name of a bucket: /);
      }
  for (const bucket of ['acme/files', 'acme?x', '..', 'a..b', '../..', 'acme files', '_files'])
    assert.deepEqual(await problemOf(service, { s3: { bucket, forcePathStyle: true } }), [
      's3.bucket',
      'validation_invalid_value',
    ]);
  for (const endpoint of [
    'http://a@s3.example',
    'ftp://s3.example',
    's3.example/?x',
    's3.example#x',
    'http:\\s3',
  ])
    assert.deepEqual(await problemOf(service, { s3: { endpoint } }), ['s3.endpoint', 'validation_is_url']);
  for (const region of ['eu\n1', 'eu/1', 'eu 1', 'eu,1'])
    assert.deepEqual(await problemOf(service, { s3: { region } }), ['s3.region', 'validation_match_invalid']);
  for (const accessKey of ['a\r\nb', 'a/b', 'a,b', 'é'])
    assert.deepEqual(await problemOf(service, { s3: { accessKey } }), [
      's3.accessKey',
      'validation_match_invalid',
    ]);
  const whole = { enabled: true, bucket: 'acme-files', region: 'r', accessKey: 'k', secret: 's' };
  const byAddress = { s3: { ...whole, endpoint: 'http://10.0.0.1:9000' } };
  assert.deepEqual(await problemOf(service, byAddress), ['s3.endpoint', 'validation_invalid_value']);
  for (const s3 of [
    { ...byAddress.s3, forcePathStyle: true },
    { bucket: 'Acme_Files.2', forcePathStyle: true },
    { bucket: 'acme.files-2', forcePathStyle: false, endpoint: 's3.example/base' },
  ])
    assert.equal((await change(service, { s3 })).status, 200, JSON.stringify(s3));
});

test('secrets are written, kept by what does not name them, never shown, and sealed at rest', async (t) => {
  const service = await startService(t);
  const secrets = {
    smtp: { password: 'canary-mail' },
    s3: { secret: '€'.repeat(2_000) },
    backups: { s3: { secret: 'canary-backup' } },
  };
  const { status, text } = await change(service, secrets);
  assert.equal(status, 200);
  await change(service, { smtp: { port: 25 } });
  const shown = await service.request('/api/settings', { token: true });
  for (const seen of [text, shown.text]) assert.doesNotMatch(seen, /canary|password|secret/);
  await service.withInstance('default', async ({ database, settings }) => {
    const rows = await database.all(
      sql`SELECT value FROM ${database.names.table('$instance_setting')} WHERE name = 'settings'`,
    );
    assert.equal(rows.length, 1);
    assert.doesNotMatch(String(rows[0]?.['value']), /canary|€/);
    // As a process that starts would read them.
    await settings.reload(database);
    const { smtp, s3, backups } = settings.current;
    assert.deepEqual(
      [smtp.password, smtp.port, s3.secret.length, backups.s3.secret],
      ['canary-mail', 25, 2_000, 'canary-backup'],
    );
  });
  await change(service, { smtp: { password: '' } });
  await service.withInstance('default', async ({ settings }) => {
    assert.equal(settings.current.smtp.password, '');
  });
});

test('changes of several at once are all kept, and every instance has settings of its own', async (t) => {
  const service = await startService(t);
  const names = ['smtp', 'meta', 'logs', 'batch'] as const;
  const bodies = { smtp: { port: 1 }, meta: { appName: 'x' }, logs: { maxDays: 1 }, batch: { timeout: 1 } };
  await Promise.all(names.map((name) => change(service, { [name]: bodies[name] })));
  const { json } = await service.request('/api/settings', { token: true });
  assert.deepEqual(
    [json.smtp.port, json.meta.appName, json.logs.maxDays, json.batch.timeout],
    [1, 'x', 1, 1],
  );
  await service.app.data.directory.create('other', null);
  await service.withInstance('other', async ({ settings }) => {
    assert.equal(settings.current.meta.appName, 'Acme');
  });
});

test('the SDK reads and changes settings, and is told plainly what cannot be tested', async (t) => {
  const pb = await superuserSdk(await startService(t));
  const changed = await pb.settings.update({ meta: { appName: 'Shop' } });
  assert.equal(changed['meta'].appName, 'Shop');
  assert.deepEqual(await pb.settings.getAll(), changed);
  // As the dashboard does, with the secrets that are never shown.
  const { s3, smtp, backups, ...rest } = changed;
  const secrets = { s3: { ...s3, secret: 'x' }, smtp: { ...smtp, password: 'y' } };
  const whole = { ...rest, ...secrets, backups: { ...backups, s3: { ...backups.s3, secret: 'z' } } };
  assert.deepEqual(await pb.settings.update(changed), changed);
  assert.deepEqual(await pb.settings.update(whole), changed);
  const refusal = await refusalOf(pb.settings.update({ meta: { appName: '' } }));
  assert.equal(refusal.response['data'].meta.appName.code, 'validation_required');
  assert.equal((await refusalOf(pb.settings.testS3())).status, 400);
  assert.equal(await pb.settings.testEmail('_superusers', 'a@example.com', 'otp'), true);
  const secret = pb.settings.generateAppleClientSecret('a', 'b', 'c', 'd', 1);
  assert.equal((await refusalOf(secret)).status, 400);
});

test('batches are as the settings have them: allowed or not, so many requests, bytes and seconds', async (t) => {
  const service = await startBatchService(t);
  const item = { method: 'POST', url: '/api/records/posts', body: { title: 'a' } };
  const send = (count: number): Promise<TestAnswer> =>
    sendBatch(
      service,
      Array.from({ length: count }, () => item),
    );
  await change(service, { batch: { maxRequests: 60 } });
  assert.equal((await send(60)).status, 200);
  const many = await send(61);
  assert.equal(many.json.data.requests.message, 'The length must be no more than 60.');
  const bytes = Buffer.byteLength(JSON.stringify({ requests: [item] }));
  await change(service, { batch: { maxBodySize: bytes } });
  assert.equal((await send(1)).status, 200);
  const large = await send(2);
  assert.deepEqual([large.status, large.json.message], [413, 'Request entity too large.']);
  const form = new FormData();
  form.set('@jsonPayload', JSON.stringify({ requests: [item] }));
  const answer = await fetch(`${service.url}/api/batch`, { method: 'POST', body: form });
  assert.equal(answer.status, 413);
  await change(service, { batch: { enabled: false } });
  const none = await send(1);
  assert.deepEqual([none.status, none.json.message], [403, 'Batch requests are not allowed.']);
});

test('anybody is told the name, the accent colour and the look of portals, as they are now, and nothing else', async (t) => {
  const service = await startService(t);
  const logo = `data:image/png;base64,${Buffer.alloc(32 * 1024).toString('base64')}`;
  const portal = {
    name: 'Harbour webhooks',
    logo,
    accentColor: '#7f0a6b',
    theme: 'dark',
    returnUrl: 'https://shop.example.com/account?tab=1',
  };
  await change(service, { meta: { appName: 'Harbour', accentColor: '#0a7f6b' }, portal });
  const { status, json } = await service.request('/api/settings/public');
  assert.deepEqual([status, json], [200, { appName: 'Harbour', accentColor: '#0a7f6b', portal }]);
  await change(service, { portal: { logo: '' } });
  assert.equal((await service.request('/api/settings/public')).json.portal.logo, '');
});

test('the look of portals is an image, a colour, a theme and a link to a page', async (t) => {
  const service = await startService(t);
  for (const [name, values] of [
    ['name', ['x'.repeat(256), 1]],
    [
      'logo',
      [
        'https://shop.example.com/logo.png',
        'data:text/html;base64,PGI+',
        'data:image/svg+xml,<svg/>',
        'javascript:alert(1)',
        `data:image/png;base64,${'A'.repeat(43_800)}`,
      ],
    ],
    ['accentColor', ['red', '#12345', 'url(x)']],
    ['theme', ['', 'blue']],
    [
      'returnUrl',
      [
        'javascript:alert(1)',
        '/account',
        'http://shop.example.com/',
        'https://a:b@shop.example.com/',
        'data:text/html,x',
      ],
    ],
  ] as const)
    for (const value of values) {
      const body = { portal: { [name]: value } };
      const answer = await service.request('/api/settings', { method: 'PATCH', token: true, body });
      assert.equal(answer.status, 400, `${name} ${String(value).slice(0, 60)}`);
      assert.deepEqual(Object.keys(answer.json.data.portal), [name]);
    }
  await change(service, { portal: { returnUrl: 'http://localhost:3000/account' } });
});
