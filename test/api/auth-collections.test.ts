// Both engines: collections are tables, and identities have indexes.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { readSecret } from '../../src/secrets/secrets.ts';
import { listOf } from '../support/webhook-service.ts';
import { superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const path = '/api/collections';

function create(service: TestService, definition: object): Promise<TestAnswer> {
  return service.request(path, { method: 'POST', token: true, body: { type: 'auth', ...definition } });
}

function change(service: TestService, name: string, definition: object): Promise<TestAnswer> {
  return service.request(`${path}/${name}`, { method: 'PATCH', token: true, body: definition });
}

async function withMembers(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const definition = {
    name: 'members',
    fields: [{ name: 'username', type: 'text' }],
    indexes: ["CREATE UNIQUE INDEX names ON members (username) WHERE username != ''"],
    passwordAuth: { identityFields: ['username', 'email'] },
  };
  assert.equal((await create(service, definition)).status, 200);
  return service;
}

test('an auth collection is shown with all that accounts need, and can be sent back as it was shown', async (t) => {
  const service = await startService(t);
  const { status, json } = await create(service, {
    name: 'members',
    fields: [{ name: 'nick', type: 'text' }],
  });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json).slice(10), [
    'created',
    'updated',
    'system',
    'authRule',
    'manageRule',
    'authAlert',
    'oauth2',
    'passwordAuth',
    'mfa',
    'otp',
    'webhooks',
    'authToken',
    'passwordResetToken',
    'emailChangeToken',
    'verificationToken',
    'fileToken',
    'verificationTemplate',
    'resetPasswordTemplate',
    'confirmEmailChangeTemplate',
  ]);
  assert.deepEqual(
    listOf(json.fields).map(({ name, system, hidden }) => [name, system, hidden]),
    [
      ['id', true, false],
      ['password', true, true],
      ['tokenKey', true, true],
      ['email', true, false],
      ['emailVisibility', true, false],
      ['verified', true, false],
      ['nick', false, false],
      ['created', false, false],
      ['updated', false, false],
    ],
  );
  assert.deepEqual(json.indexes, [
    `CREATE UNIQUE INDEX \`idx_tokenKey_${json.id}\` ON \`members\` (\`tokenKey\`)`,
    `CREATE UNIQUE INDEX \`idx_email_${json.id}\` ON \`members\` (\`email\`) WHERE \`email\` != ''`,
  ]);
  assert.deepEqual(
    [json.authRule, json.manageRule, json.passwordAuth, json.mfa, json.authToken, json.fileToken],
    [
      '',
      null,
      { enabled: true, identityFields: ['email'] },
      { enabled: false, duration: 600, rule: '' },
      { duration: 432_000 },
      { duration: 180 },
    ],
  );
  const again = await change(service, 'members', json);
  assert.deepEqual({ ...again.json, updated: json.updated }, json);
});

test('what a definition says inside of a member changes that alone', async (t) => {
  const service = await withMembers(t);
  const before = (await service.request(`${path}/members`, { token: true })).json;
  const { json } = await change(service, 'members', {
    authRule: 'verified = true',
    manageRule: "@request.auth.username = 'boss'",
    otp: { length: 6 },
    fileToken: { duration: 60 },
    verificationTemplate: { subject: 'Hello' },
  });
  assert.deepEqual(
    { ...json, updated: before.updated },
    {
      ...before,
      authRule: 'verified = true',
      manageRule: "@request.auth.username = 'boss'",
      otp: { ...before.otp, length: 6 },
      fileToken: { duration: 60 },
      verificationTemplate: { ...before.verificationTemplate, subject: 'Hello' },
    },
  );
});

const refused: readonly (readonly [object, readonly string[], string])[] = [
  [{ manageRule: '' }, ['manageRule'], 'validation_nil_or_not_empty_required'],
  [{ manageRule: 'nope = 1' }, ['manageRule'], 'validation_invalid_rule'],
  [{ authRule: 'nope = 1' }, ['authRule'], 'validation_invalid_rule'],
  [{ authRule: 5 }, ['authRule'], 'validation_invalid_rule'],
  [{ mfa: { rule: 'nope = 1' } }, ['mfa', 'rule'], 'validation_invalid_rule'],
  [{ mfa: { enabled: true } }, ['mfa', 'enabled'], 'validation_mfa_not_enough_auths'],
  [
    { mfa: { enabled: true }, otp: { enabled: true }, passwordAuth: { enabled: false } },
    ['mfa', 'enabled'],
    'validation_mfa_not_enough_auths',
  ],
  [{ otp: { length: 3 } }, ['otp', 'length'], 'validation_min_greater_equal_than_required'],
  [{ otp: 'on' }, ['otp'], 'validation_invalid_value'],
  [{ oauth2: { enabled: 'yes' } }, ['oauth2', 'enabled'], 'validation_invalid_value'],
  [{ passwordAuth: { identityFields: [] } }, ['passwordAuth', 'identityFields'], 'validation_required'],
  [
    { passwordAuth: { identityFields: ['nope'] } },
    ['passwordAuth', 'identityFields'],
    'validation_missing_field',
  ],
  [
    { passwordAuth: { identityFields: ['tokenKey'] } },
    ['passwordAuth', 'identityFields'],
    'validation_missing_field',
  ],
  [
    { passwordAuth: { identityFields: ['verified'] } },
    ['passwordAuth', 'identityFields'],
    'validation_missing_field',
  ],
  [{ passwordAuth: { enabled: 'yes' } }, ['passwordAuth', 'enabled'], 'validation_invalid_value'],
  [{ authToken: { duration: 9 } }, ['authToken', 'duration'], 'validation_min_greater_equal_than_required'],
  [
    { authToken: { duration: 94_670_857 } },
    ['authToken', 'duration'],
    'validation_max_less_equal_than_required',
  ],
  [{ authToken: { duration: 1.5 } }, ['authToken', 'duration'], 'validation_invalid_value'],
  [{ authToken: { secret: 'short' } }, ['authToken', 'secret'], 'validation_length_out_of_range'],
  [{ verificationTemplate: { subject: '' } }, ['verificationTemplate', 'subject'], 'validation_required'],
  [{ fields: [{ name: 'email', type: 'text' }] }, ['fields', '1', 'type'], 'validation_missing_email_field'],
  [
    { fields: [{ name: 'oldPassword', type: 'text' }] },
    ['fields', '1', 'name'],
    'validation_reserved_field_name',
  ],
  [
    { fields: [{ name: 'TOKENKEY', type: 'text' }] },
    ['fields', '1', 'name'],
    'validation_reserved_field_name',
  ],
  [
    { fields: [{ name: 'password', type: 'password', hidden: false }] },
    ['fields', '1', 'hidden'],
    'validation_must_be_system_and_hidden',
  ],
  [
    { fields: [{ name: 'verified', type: 'bool', system: false }] },
    ['fields', '1', 'system'],
    'validation_must_be_system',
  ],
  [
    { indexes: ['CREATE UNIQUE INDEX x ON c (password)'] },
    ['indexes', '0'],
    'validation_invalid_index_expression',
  ],
  [
    { indexes: ['CREATE UNIQUE INDEX x ON c (tokenKey, email)'] },
    ['indexes', '0'],
    'validation_invalid_index_expression',
  ],
];

test('what accounts cannot be made of is refused where it stands, at creation and at a change', async (t) => {
  const service = await startService(t);
  const { json: before } = await create(service, { name: 'members' });
  for (const [definition, at, code] of refused) {
    for (const answer of [
      await create(service, { name: 'others', ...definition }),
      // Fields that exist have ids of their own, of which other tests tell.
      ...('fields' in definition ? [] : [await change(service, 'members', definition)]),
    ]) {
      let problem = answer.json.data;
      for (const name of at) problem = problem?.[name];
      assert.deepEqual(
        [answer.status, problem?.code],
        [400, code],
        JSON.stringify([definition, answer.json]),
      );
    }
  }
  assert.deepEqual((await service.request(`${path}/members`, { token: true })).json, before);
  assert.equal((await service.request(`${path}/others`, { token: true })).status, 404);
});

test('an identity is a field that no two accounts share, and keeps its index', async (t) => {
  const service = await withMembers(t);
  const kept = (await service.request(`${path}/members`, { token: true })).json;
  const isEmail = (text: string): boolean => text.includes('(`email`)');
  const indexes: readonly string[] = kept.indexes;
  const email = indexes.find(isEmail) ?? '';
  const dropped = await change(service, 'members', { indexes: [email] });
  assert.equal(dropped.json.data.passwordAuth.identityFields.code, 'validation_missing_unique_constraint');
  const others = indexes.filter((text) => !isEmail(text));
  // The required ones come back by themselves, by names that are free, and another order or case of the address will do.
  const id = String(kept.id);
  const taken = `CREATE INDEX \`idx_email_${id}\` ON \`members\` (\`verified\`)`;
  const completed = (await change(service, 'members', { indexes: [...others, taken] })).json.indexes;
  assert.deepEqual(completed, [email.replace(`idx_email_${id}`, `idx_email_${id}_2`), ...others, taken]);
  const nocase = email.replace('(`email`)', '(`email` COLLATE NOCASE)');
  const { json } = await change(service, 'members', { indexes: [nocase, others[1]] });
  assert.deepEqual(json.indexes, [others[0], nocase, others[1]]);
  assert.equal((await change(service, 'members', { name: 'people' })).status, 200);
});

test('A13 neither passwords nor token keys are columns of the table of an auth collection', async (t) => {
  const service = await withMembers(t);
  await change(service, 'members', {
    fields: [
      { name: 'username', type: 'text' },
      { name: 'pin', type: 'password' },
    ],
  });
  const columns = await service.withInstance('default', async ({ database }) => {
    const [row] = await database.all(
      sql`SELECT * FROM (SELECT 1 AS one) AS one LEFT JOIN ${database.names.collectionTable('members')} AS members ON TRUE`,
    );
    return Object.keys(row ?? {});
  });
  assert.deepEqual(columns.toSorted(), [
    '$position',
    '$revision',
    'created',
    'email',
    'emailVisibility',
    'id',
    'one',
    'updated',
    'username',
    'verified',
  ]);
});

test('the secret of a token is never shown; one that is given is put in force, an empty one is made up', async (t) => {
  const service = await startService(t);
  const given = 'the-secret-of-these-tokens-is-given';
  const { json, text } = await create(service, { name: 'members', authToken: { secret: given } });
  assert.equal(text.includes('secret'), false);
  const read = (name: string): Promise<string | undefined> =>
    service.withInstance('default', async ({ database, sealer }) => {
      const sealed = await readSecret(database, { collection: json.id, record: '', name });
      assert.ok(sealed);
      const id = name === 'authToken' ? json.id : `${json.id} ${name}`;
      return sealer.open(sealed, { purpose: 'token-secret', id });
    });
  assert.equal(await read('authToken'), given);
  const file = await read('fileToken');
  assert.match(file ?? '', /^\w{50}$/);
  await change(service, 'members', { authToken: { secret: '' }, otp: { length: 5 } });
  assert.match((await read('authToken')) ?? '', /^\w{50}$/);
  assert.equal(await read('fileToken'), file);
});

test('a new instance has `users`, which is its owner’s, and the system’s own beside it', async (t) => {
  const service = await startService(t);
  const { json } = await service.request(`${path}?sort=id`, { token: true });
  const shown = listOf(json.items).map((item) => [item['id'], item['name'], item['type'], item['system']]);
  assert.deepEqual(shown, [
    ['_pb_users_auth_', 'users', 'auth', false],
    ['pbc_1638494021', '_otps', 'base', true],
    ['pbc_2279338944', '_mfas', 'base', true],
    ['pbc_2281828961', '_externalAuths', 'base', true],
    ['pbc_3142635823', '_superusers', 'auth', true],
    ['pbc_4275539003', '_authOrigins', 'base', true],
  ]);
  const users = json.items[0];
  const own = 'id = @request.auth.id';
  assert.deepEqual(
    [users.listRule, users.viewRule, users.createRule, users.updateRule, users.deleteRule],
    [own, own, '', own, own],
  );
  assert.equal((await service.request(`${path}/_mfas`, { method: 'DELETE', token: true })).status, 400);
  assert.equal((await service.request(`${path}/users`, { method: 'DELETE', token: true })).status, 204);
});

test('`users` that were deleted stay so when the service starts again', async (t) => {
  const data = temporaryFolder(t);
  const first = await startService(t, { data });
  await first.request(`${path}/users`, { method: 'DELETE', token: true });
  await first.stop();
  const again = await startService(t, { data });
  assert.equal((await again.request(`${path}/users`, { token: true })).status, 404);
  assert.equal((await again.request(path, { token: true })).json.totalItems, 5);
});

test('superusers that were stored before there were accounts get what such collections have now', async (t) => {
  const data = temporaryFolder(t);
  const first = await startService(t, { data });
  const before = (await first.request(`${path}/_superusers`, { token: true })).json;
  await first.withInstance('default', ({ database }) =>
    database.write(async (tx) => {
      const where = sql`${tx.names.instance.condition} AND id = 'pbc_3142635823'`;
      const row = await tx.get(sql`SELECT definition FROM ${tx.names.table('$collection')} WHERE ${where}`);
      // Written by the store, as an object.
      const definition = JSON.parse(String(row?.['definition'])) as Readonly<Record<string, unknown>>;
      const isNew = (text: string): boolean => /password|tokenKey/.test(text);
      const old = {
        ...definition,
        fields: listOf(definition.fields).filter(({ name }) => !isNew(String(name))),
        // As above: a list of texts.
        indexes: (definition.indexes as readonly string[]).filter((text) => !isNew(text)),
        auth: { identityFields: ['email'], tokenSeconds: 86_400 },
      };
      await tx.run(
        sql`UPDATE ${tx.names.table('$collection')} SET definition = ${JSON.stringify(old)} WHERE ${where}`,
      );
      await tx.run(
        sql`DELETE FROM ${tx.names.table('$secret')} WHERE ${tx.names.instance.condition} AND collection = 'pbc_3142635823' AND record = '' AND name <> 'authToken'`,
      );
    }),
  );
  await first.stop();
  const again = await startService(t, { data });
  assert.deepEqual((await again.request(`${path}/_superusers`, { token: true })).json, before);
  const secrets = await again.withInstance('default', ({ database }) =>
    database.all(
      sql`SELECT name FROM ${database.names.table('$secret')} WHERE ${database.names.instance.condition} AND collection = 'pbc_3142635823' AND record = ''`,
    ),
  );
  assert.equal(secrets.length, 5);
});

test('the SDK makes, changes and lists auth collections', async (t) => {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  const made = await pb.collections.create({ name: 'members', type: 'auth', authRule: 'verified = true' });
  assert.equal(made.type, 'auth');
  const changed = await pb.collections.update('members', { passwordAuth: { enabled: false } });
  assert.deepEqual(changed['passwordAuth'], { enabled: false, identityFields: ['email'] });
  assert.deepEqual(
    (await pb.collections.getFullList({ filter: "type = 'auth'", sort: 'name' })).map(({ name }) => name),
    ['_superusers', 'members', 'users'],
  );
});
