import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './temporary-folder.ts';

type Members = Readonly<Record<string, unknown>>;

/** A collection of a source, and the rows of its table. */
export interface SourceTable {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
  readonly system?: boolean;
  readonly fields: readonly Members[];
  readonly indexes?: readonly string[];
  /** Rules, and the options of the collection's type. */
  readonly more?: Members;
  /** SQL declarations of columns that differ from those of a new directory. */
  readonly declared?: Readonly<Record<string, string>>;
  readonly rows?: readonly Readonly<Record<string, SQLInputValue>>[];
}

export interface SourceDirectory {
  readonly tables: readonly SourceTable[];
  /** The settings as JSON, or as base64 when they are encrypted. */
  readonly settings?: string;
  /** Contents of files by path under `storage/`. */
  readonly files?: Readonly<Record<string, string>>;
  /** SQL to run on the database at the end. */
  readonly sql?: string;
}

/** Makes a data directory as PocketBase would have written it, removed when the test ends. */
export function makePocketbaseDirectory(t: TestContext, source: SourceDirectory): string {
  const folder = join(temporaryFolder(t), 'pb_data');
  mkdirSync(folder);
  const database = new DatabaseSync(join(folder, 'data.db'));
  database.exec('PRAGMA journal_mode = WAL; BEGIN');
  database.exec(`
    CREATE TABLE _collections (id TEXT PRIMARY KEY NOT NULL, system BOOLEAN DEFAULT FALSE NOT NULL, type TEXT DEFAULT 'base' NOT NULL,
      name TEXT UNIQUE NOT NULL, fields JSON DEFAULT '[]' NOT NULL, indexes JSON DEFAULT '[]' NOT NULL, listRule TEXT DEFAULT NULL,
      viewRule TEXT DEFAULT NULL, createRule TEXT DEFAULT NULL, updateRule TEXT DEFAULT NULL, deleteRule TEXT DEFAULT NULL,
      options JSON DEFAULT '{}' NOT NULL, created TEXT DEFAULT '' NOT NULL, updated TEXT DEFAULT '' NOT NULL);
    CREATE TABLE _params (id TEXT PRIMARY KEY NOT NULL, value JSON DEFAULT NULL, created TEXT DEFAULT '' NOT NULL, updated TEXT DEFAULT '' NOT NULL);
    CREATE TABLE _migrations (file VARCHAR(255) PRIMARY KEY NOT NULL, applied INTEGER NOT NULL);`);
  if (source.settings !== undefined)
    database.prepare(`INSERT INTO _params (id, value) VALUES ('settings', ?)`).run(source.settings);
  for (const table of source.tables) addTable(database, table);
  database.exec(`COMMIT; ${source.sql ?? ''}`);
  database.close();
  for (const [path, text] of Object.entries(source.files ?? {})) {
    const file = join(folder, 'storage', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

function addTable(database: DatabaseSync, table: SourceTable): void {
  const { id, name, type = 'base', system = false, fields, indexes = [], more = {}, rows = [] } = table;
  const { listRule, viewRule, createRule, updateRule, deleteRule, ...options } = more;
  const rules = [listRule, viewRule, createRule, updateRule, deleteRule].map((rule) =>
    typeof rule === 'string' ? rule : null,
  );
  database
    .prepare(`INSERT INTO _collections VALUES (${Array.from({ length: 14 }, () => '?').join(', ')})`)
    .run(
      id,
      system ? 1 : 0,
      type,
      name,
      JSON.stringify(fields),
      JSON.stringify(indexes),
      ...rules,
      JSON.stringify(options),
      '2024-01-02 03:04:05.678Z',
      '2024-02-03 04:05:06.789Z',
    );
  if (type === 'view') return;
  const columns = fields.map(
    (field) =>
      `"${String(field['name'])}" ${table.declared?.[String(field['name'])] ?? declarationOf(field)}`,
  );
  database.exec(`CREATE TABLE "${name}" (${columns.join(', ')})`);
  for (const index of indexes) if (!index.includes('geo')) database.exec(index);
  for (const row of rows) {
    const names = Object.keys(row);
    const quoted = names.map((column) => `"${column}"`).join(', ');
    database
      .prepare(`INSERT INTO "${name}" (${quoted}) VALUES (${names.map(() => '?').join(', ')})`)
      .run(...Object.values(row));
  }
}

function declarationOf({ name, type, maxSelect }: Members): string {
  if (name === 'id') return `TEXT PRIMARY KEY DEFAULT ('r' || lower(hex(randomblob(7)))) NOT NULL`;
  if (type === 'number') return 'NUMERIC DEFAULT 0 NOT NULL';
  if (type === 'bool') return 'BOOLEAN DEFAULT FALSE NOT NULL';
  if (type === 'json') return 'JSON DEFAULT NULL';
  if (type === 'geoPoint') return `JSON DEFAULT '{"lon":0,"lat":0}' NOT NULL`;
  return Number(maxSelect) > 1 ? `JSON DEFAULT '[]' NOT NULL` : `TEXT DEFAULT '' NOT NULL`;
}

export const sourceId: Members = {
  autogeneratePattern: '[a-z0-9]{15}',
  hidden: false,
  id: 'text3208210256',
  max: 15,
  min: 15,
  name: 'id',
  pattern: '^[a-z0-9]+$',
  presentable: false,
  primaryKey: true,
  required: true,
  system: true,
  type: 'text',
};

export const sourceDates: readonly Members[] = [
  {
    hidden: false,
    id: 'autodate2990389176',
    name: 'created',
    onCreate: true,
    onUpdate: false,
    system: false,
    type: 'autodate',
  },
  {
    hidden: false,
    id: 'autodate3332085495',
    name: 'updated',
    onCreate: true,
    onUpdate: true,
    system: false,
    type: 'autodate',
  },
];

/** Fields of an auth collection besides its id. */
export const sourceAccount: readonly Members[] = [
  {
    cost: 10,
    hidden: true,
    id: 'password901924565',
    max: 0,
    min: 8,
    name: 'password',
    pattern: '',
    required: true,
    system: true,
    type: 'password',
  },
  {
    autogeneratePattern: '[a-zA-Z0-9_]{50}',
    hidden: true,
    id: 'text2504183744',
    max: 60,
    min: 30,
    name: 'tokenKey',
    required: true,
    system: true,
    type: 'text',
  },
  {
    exceptDomains: null,
    hidden: false,
    id: 'email3885137012',
    name: 'email',
    onlyDomains: null,
    required: true,
    system: true,
    type: 'email',
  },
  {
    hidden: false,
    id: 'bool1547992806',
    name: 'emailVisibility',
    required: false,
    system: true,
    type: 'bool',
  },
  { hidden: false, id: 'bool256245529', name: 'verified', required: false, system: true, type: 'bool' },
];

const tokenKinds = ['authToken', 'passwordResetToken', 'emailChangeToken', 'verificationToken', 'fileToken'];

/** Returns options of an auth collection. Each token secret is made of its name, padded to the length of a secret. */
export function sourceAuthOptions(name: string): Members {
  const tokens = tokenKinds.map((kind) => [
    kind,
    { duration: 604_800, secret: `${name} ${kind} `.padEnd(50, 'x') },
  ]);
  return { authRule: '', manageRule: null, ...Object.fromEntries(tokens) };
}

/** Returns the row of an account; `tokenKey` is made of its id. */
export function sourceUser(id: string, email: string, hash: string): Record<string, SQLInputValue> {
  return {
    id,
    email,
    password: hash,
    tokenKey: tokenKeyOf(id),
    emailVisibility: 1,
    verified: 1,
    created: '2024-03-04 05:06:07.890Z',
    updated: '2024-03-05 05:06:07.890Z',
  };
}

export function tokenKeyOf(id: string): string {
  return id.padEnd(50, 'k');
}

/** Returns `users` and `_superusers` as every source has them. */
export function sourceAccounts(
  users: readonly Record<string, SQLInputValue>[],
  superusers: readonly Record<string, SQLInputValue>[] = [],
): readonly [users: SourceTable, superusers: SourceTable] {
  const fields = [sourceId, ...sourceAccount];
  const unique = (id: string, name: string): readonly string[] => [
    `CREATE UNIQUE INDEX \`idx_tokenKey_${id}\` ON \`${name}\` (\`tokenKey\`)`,
    `CREATE UNIQUE INDEX \`idx_email_${id}\` ON \`${name}\` (\`email\`) WHERE \`email\` != ''`,
  ];
  return [
    {
      id: '_pb_users_auth_',
      name: 'users',
      type: 'auth',
      fields: [...fields, { id: 'text1579384326', name: 'name', type: 'text', max: 255 }, ...sourceDates],
      indexes: unique('_pb_users_auth_', 'users'),
      more: {
        ...sourceAuthOptions('users'),
        listRule: 'id = @request.auth.id',
        viewRule: 'id = @request.auth.id',
        createRule: '',
      },
      rows: users,
    },
    {
      id: 'pbc_3142635823',
      name: '_superusers',
      type: 'auth',
      system: true,
      fields: [...fields, ...sourceDates],
      indexes: unique('pbc_3142635823', '_superusers'),
      more: sourceAuthOptions('_superusers'),
      rows: superusers,
    },
  ];
}
