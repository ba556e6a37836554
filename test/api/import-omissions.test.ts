// Both engines: an import writes tables.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { SQLInputValue } from 'node:sqlite';
import { tokenSecretPlace } from '../../src/instances/token-secrets.ts';
import { readSecret } from '../../src/secrets/secrets.ts';
import { sql } from '../../src/sql/sql.ts';
import { importInto, omissionsOf, storageOf } from '../support/import-into.ts';
import { ann, blogPosts, blogRow } from '../support/pocketbase-blog.ts';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceDates,
  sourceId,
  sourceUser,
  type SourceTable,
} from '../support/pocketbase-directory.ts';
import { startService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const notes: SourceTable = {
  id: 'pbc_9',
  name: 'notes',
  fields: [sourceId, { id: 'text1', name: 'text', type: 'text' }, ...sourceDates],
};

const [users, superusers] = sourceAccounts([ann]);

test('a dry run says the same as the import, and writes nothing', async (t) => {
  const directory = makePocketbaseDirectory(t, {
    tables: [
      ...sourceAccounts([ann]),
      blogPosts,
      { ...notes, rows: [{ id: 'note00000000001', text: 'a\0b' }] },
      { id: 'pbc_v', name: 'titles', type: 'view', fields: [], more: { viewQuery: 'SELECT id FROM posts' } },
    ],
  });
  const service = await startService(t);
  const before = await contentOf(service);
  const dry = await importInto(service, directory, { isDryRun: true });
  assert.deepEqual(await contentOf(service), before);
  const real = await importInto(service, directory);
  assert.deepEqual(dry, real);
  assert.deepEqual(omissionsOf(real), ['notes: text', 'posts: a file of cover']);
  assert.notDeepEqual(await contentOf(service), before);
});

test('rules that are not followed here let nobody in but superusers', async (t) => {
  const more = {
    listRule: '@collection.titles.id ?= id',
    viewRule: 'no such syntax',
    createRule: 'text = "x"',
    deleteRule: 'missing.field = 1',
  };
  const accounts = { ...users, more: { ...users.more, authRule: 'nothing = 1', manageRule: 'nothing = 1' } };
  const service = await startService(t);
  const summary = await importInto(service, directoryOf(t, [{ ...notes, more }, accounts]));
  assert.deepEqual(omissionsOf(summary), [
    'notes: deleteRule',
    'notes: listRule',
    'notes: viewRule',
    'users: authRule',
    'users: manageRule',
  ]);
  const { json } = await service.request('/api/collections/notes', { token: true });
  assert.deepEqual(
    [json.listRule, json.viewRule, json.createRule, json.deleteRule],
    [null, null, 'text = "x"', null],
  );
  const { json: auth } = await service.request('/api/collections/users', { token: true });
  assert.deepEqual([auth.authRule, auth.manageRule], [null, null]);
});

test('indexes, options of fields and options of accounts that are refused are left out one by one', async (t) => {
  const fields = [
    sourceId,
    { id: 'text1', name: 'text', type: 'text', pattern: '^(?=x)', min: 2 },
    { id: 'text2', name: 'code', type: 'text', autogeneratePattern: '[a-z' },
    ...sourceDates,
  ];
  const indexes = [
    'CREATE INDEX `idx_lower` ON `notes` (lower(`text`))',
    'CREATE INDEX `idx_text` ON `notes` (`text`)',
    'CREATE INDEX `idx_length` ON `notes` (length(`text`))',
  ];
  const more = {
    ...users.more,
    oauth2: {
      enabled: true,
      providers: [
        { name: 'myspace', clientId: '', clientSecret: 'x' },
        { name: 'github', clientId: 'x', clientSecret: 'canary: of github' },
        { name: 'google', clientId: 'x' },
      ],
      mappedFields: { name: 'name' },
    },
    passwordAuth: { enabled: true, identityFields: ['name'] },
    verificationTemplate: { subject: '', body: 'Hello' },
    fileToken: { duration: 1, secret: 'short' },
  };
  const service = await startService(t);
  const tables = [
    { ...notes, fields, indexes },
    { ...users, more },
  ];
  const summary = await importInto(service, directoryOf(t, tables));
  assert.deepEqual(omissionsOf(summary), [
    'notes: autogeneratePattern of the field code',
    'notes: pattern of the field text',
    'notes: the index "CREATE INDEX `idx_length` ON `notes` (length(`text`))"',
    'notes: the index "CREATE INDEX `idx_lower` ON `notes` (lower(`text`))"',
    'users: fileToken.duration',
    'users: fileToken.secret',
    'users: passwordAuth.identityFields',
    'users: the sign-in provider "google"',
    'users: the sign-in provider "myspace"',
    'users: verificationTemplate.subject',
  ]);
  const { json } = await service.request('/api/collections/notes', { token: true });
  assert.deepEqual(json.indexes, [indexes[1]]);
  assert.equal(json.fields[1].min, 2);
  const { json: auth } = await service.request('/api/collections/users', { token: true });
  const providers: readonly { readonly name: string }[] = auth.oauth2.providers;
  const names = providers.map(({ name }) => name);
  assert.deepEqual([auth.oauth2.enabled, auth.oauth2.mappedFields.name, names], [true, 'name', ['github']]);
  await service.withInstance('default', async ({ database, sealer }) => {
    const name = 'oauth2 github';
    const sealed = await readSecret(database, { collection: auth.id, record: '', name });
    assert.equal(sealer.open(sealed ?? '', tokenSecretPlace(auth.id, name)), 'canary: of github');
  });
  assert.deepEqual([auth.passwordAuth.identityFields, auth.verificationTemplate.body], [['email'], 'Hello']);
});

test('what accounts sign in with stays when an index beside it is left out', async (t) => {
  const indexes = [
    'CREATE INDEX `idx_lower` ON `users` (lower(`name`))',
    'CREATE UNIQUE INDEX `idx_name` ON `users` (`name` COLLATE NOCASE)',
  ];
  const more = { ...users.more, passwordAuth: { enabled: true, identityFields: ['email', 'name'] } };
  const service = await startService(t);
  const summary = await importInto(service, directoryOf(t, [{ ...users, indexes, more }]));
  assert.deepEqual(omissionsOf(summary), [
    'users: the index "CREATE INDEX `idx_lower` ON `users` (lower(`name`))"',
  ]);
  const { json } = await service.request('/api/collections/users', { token: true });
  assert.deepEqual(json.passwordAuth.identityFields, ['email', 'name']);
});

test('values that no engine could keep become empty, and are told of with their records', async (t) => {
  const fields = ['number', 'json', 'date', 'geoPoint', 'text', 'bool']
    .map((type): Record<string, unknown> => ({ id: `${type}1`, name: type, type }))
    .concat({ id: 'select1', name: 'chosen', type: 'select', values: ['a', 'b'], maxSelect: 2 })
    .concat({ id: 'select2', name: 'one', type: 'select', values: ['a', 'b'], maxSelect: 1 });
  const bad: Readonly<Record<string, SQLInputValue>> = {
    number: Infinity,
    json: '{"n":9007199254740993}',
    date: 'tomorrow',
    bool: 'maybe',
    geoPoint: '[1,2]',
    text: 'a\0b',
    chosen: '["a","\\u0000"]',
  };
  const rows = [
    { id: 'bad000000000001', ...bad },
    { id: 'bad000000000002', ...bad },
    { id: 'bad000000000003', json: `${'['.repeat(65)}${']'.repeat(65)}`, number: 9_007_199_254_740_993n },
    { id: 'bad000000000004', text: new Uint8Array([0x6f, 0x6b]), json: new Uint8Array([0xff]) },
    { id: 'bad000000000005', number: '1,5', date: 5, json: Infinity, one: '["a","\\ud800"]' },
  ];
  const service = await startService(t);
  const declared = { text: 'BLOB', json: 'BLOB' };
  const tables = [{ ...notes, fields: [sourceId, ...fields, ...sourceDates], rows, declared }];
  const summary = await importInto(service, directoryOf(t, tables));
  assert.deepEqual(omissionsOf(summary), [
    'notes: bool × 2',
    'notes: chosen × 2',
    'notes: date × 3',
    'notes: geoPoint × 2',
    'notes: json',
    'notes: json × 4',
    'notes: number × 3',
    'notes: one',
    'notes: text × 2',
  ]);
  assert.deepEqual(summary.omissions.find(({ what }) => what === 'date')?.examples, [
    'bad000000000001',
    'bad000000000002',
    'bad000000000005',
  ]);
  const { json } = await service.request('/api/collections/notes/records', { token: true });
  const items: readonly Record<string, unknown>[] = json.items;
  const shown = items.map((item) =>
    ['number', 'json', 'date', 'geoPoint', 'text', 'chosen', 'one', 'bool'].map((name) => item[name]),
  );
  const nowhere = { lon: 0, lat: 0 };
  assert.deepEqual(shown, [
    [0, null, '', nowhere, 'ab', ['a'], '', false],
    [0, null, '', nowhere, 'ab', ['a'], '', false],
    [9_007_199_254_740_992, null, '', nowhere, '', [], '', false],
    [0, null, '', nowhere, 'ok', [], '', false],
    [0, null, '', nowhere, '', [], '', false],
  ]);
});

test('rows without an id that could be asked for, and passwords that cannot be verified, are told of', async (t) => {
  const rows = [
    { id: '../../etc', text: 'a way out' },
    { id: 'con', text: 'reserved' },
    { id: 'x'.repeat(256), text: 'long' },
    { id: '', text: 'none' },
    { id: null, text: 'null' },
    { id: 'a\uFFFD', text: 'no UTF-8' },
    { id: 'Any-Id_that was', text: 'with a space' },
    { id: 'anyIdThatIsOne', text: 'good' },
  ];
  const people = [
    sourceUser(
      'aaaaaaaaaaaaaaa',
      'a@example.com',
      '$2a$20$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    ),
    { ...sourceUser('bbbbbbbbbbbbbbb', 'b@example.com', ''), tokenKey: 'short' },
  ];
  const service = await startService(t);
  const tables = [{ ...notes, rows, declared: { id: 'TEXT PRIMARY KEY' } }, ...sourceAccounts(people)];
  const summary = await importInto(service, directoryOf(t, tables));
  assert.deepEqual(omissionsOf(summary), [
    ...Array.from({ length: 7 }, () => 'notes: a record'),
    'users: password',
    'users: tokenKey',
  ]);
  assert.deepEqual(
    summary.collections.map(({ rows, records }) => [rows, records]),
    [
      [8, 1],
      [2, 2],
      [0, 0],
    ],
  );
});

test('a superuser whose address or id is taken stays who they are', async (t) => {
  const service = await startService(t);
  const rows = [
    sourceUser('rootrootrootroo', service.superuser.email, ''),
    sourceUser('otherotherother', 'o@example.com', ''),
  ];
  const summary = await importInto(service, directoryOf(t, [{ ...superusers, rows }]));
  assert.deepEqual(omissionsOf(summary), ['_superusers: a record']);
  const { json } = await service.request('/api/collections/_superusers/records', { token: true });
  assert.equal(json.totalItems, 2);
});

test('settings that are refused are left out part by part; files in S3 are not looked for', async (t) => {
  const s3 = {
    enabled: true,
    bucket: 'files',
    region: 'r',
    endpoint: 'https://s3.example.com',
    accessKey: 'k',
    secret: 's',
  };
  const settings = JSON.stringify({
    meta: { appName: '', appURL: 'no url' },
    batch: { enabled: 'yes' },
    logs: { maxDays: 7 },
    s3,
  });
  const service = await startService(t);
  const summary = await importInto(service, directoryOf(t, [], settings));
  assert.deepEqual(omissionsOf(summary), [
    'the files: all',
    'the settings: batch',
    'the settings: meta',
    'the settings: meta',
  ]);
  const { json } = await service.request('/api/settings', { token: true });
  assert.deepEqual([json.meta.appName, json.batch.enabled, json.logs.maxDays], ['Acme', true, 7]);
});

test('settings that let superusers in from some addresses only are told of, and followed', async (t) => {
  const service = await startService(t);
  const from = (superuserIPs: readonly string[]): string =>
    directoryOf(t, [], JSON.stringify({ superuserIPs }));
  const told = async (
    ranges: readonly string[],
    isDryRun: boolean,
  ): Promise<readonly (readonly string[])[]> => {
    const { omissions } = await importInto(service, from(ranges), { isDryRun });
    return omissions.map(({ kind, of, what, why }) => [kind, `${of}: ${what}`, why]);
  };
  const line = (ranges: string): readonly string[] => [
    'to look at',
    'the settings: superuserIPs',
    `From now on superusers are let in from ${ranges} only: see that these are addresses that you come from.`,
  ];
  assert.deepEqual(await told([], true), []);
  const many = ['10.0.0.0/8', '192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5'];
  assert.deepEqual(await told(many, true), [
    line('10.0.0.0/8, 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, …'),
  ]);
  // What is refused is left out, and shuts nobody out.
  const refused = await told(['nowhere'], true);
  assert.deepEqual(
    refused.map(([kind]) => kind),
    ['left out'],
  );
  assert.deepEqual(await told(['127.0.0.0/8', '::1'], false), [line('127.0.0.0/8, ::1')]);
  const { json } = await service.request('/api/settings', { token: true });
  assert.deepEqual(json.superuserIPs, ['127.0.0.0/8', '::1']);
});

test('files with names that lead elsewhere, and links, are never followed', async (t) => {
  const outside = temporaryFolder(t);
  writeFileSync(join(outside, 'secret.txt'), 'of somebody else');
  const names = ['cover.png', 'link.png', 'folder', '../../../secret.txt', '..', 'gone.png', '/etc/hostname'];
  const fields = blogPosts.fields.map((field) =>
    field['name'] === 'cover' ? { ...field, maxSelect: 99 } : field,
  );
  const rows = [
    blogRow('post00000000001', { title: 'First', cover: JSON.stringify(names) }),
    blogRow('post00000000002', { title: 'Second', cover: '["secret.txt"]' }),
  ];
  const hostile = makePocketbaseDirectory(t, {
    tables: [...sourceAccounts([ann]), { ...blogPosts, fields, rows }],
    files: { 'pbc_1125843985/post00000000001/cover.png': 'picture' },
  });
  const storage = join(hostile, 'storage', 'pbc_1125843985');
  const folder = join(storage, 'post00000000001');
  for (const name of ['link.png', 'cover.png.attrs'])
    symlinkSync(join(outside, 'secret.txt'), join(folder, name));
  mkdirSync(join(folder, 'folder'));
  symlinkSync(outside, join(storage, 'post00000000002'));
  const service = await startService(t);
  const summary = await importInto(service, hostile);
  assert.equal(summary.collections.find(({ name }) => name === 'posts')?.files, 1);
  assert.deepEqual(
    summary.omissions.map(({ why, count }) => [why, count]),
    [
      ['It is no plain file in a plain folder.', 3],
      ['Its name is no name of a file.', 3],
      ['It is not there.', 1],
    ],
  );
  const stored = await service.withInstance('default', async ({ id }) => filesIn(storageOf(service, id)));
  assert.deepEqual(stored, ['pbc_1125843985/post00000000001/cover.png']);
});

function directoryOf(t: TestContext, tables: readonly SourceTable[], settings?: string): string {
  return makePocketbaseDirectory(t, { tables, ...(settings !== undefined && { settings }) });
}

/** Everything of the instance and of the service that an import could write. */
function contentOf(service: TestService): Promise<unknown> {
  return service.withInstance('default', async ({ database, id }) => {
    const control = service.app.data.home.control;
    const settings = await database.all(
      sql`SELECT * FROM ${database.names.table('$instance_setting')} WHERE ${database.names.instance.condition} ORDER BY name`,
    );
    const collections = await database.all(
      sql`SELECT * FROM ${database.names.table('$collection')} WHERE ${database.names.instance.condition} ORDER BY id`,
    );
    const claims = await control.all(sql`SELECT * FROM ${control.names.table('$setting')} ORDER BY name`);
    return [collections, settings, claims, filesIn(storageOf(service, id))];
  });
}

function filesIn(folder: string): readonly string[] {
  try {
    const found = readdirSync(folder, { recursive: true, withFileTypes: true });
    const files = found.filter((entry) => !entry.isDirectory());
    return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).toSorted();
  } catch {
    return [];
  }
}
