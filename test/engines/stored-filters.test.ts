import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { scanToken } from '../../src/filters/scan.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Database, Engine } from '../../src/storage/database.ts';
import { migrate, type MigrationNotice } from '../../src/storage/migrate.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { rewriteTexts } from '../../src/storage/migrations/old-filter-texts.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';
import { storedFilters } from '../../src/storage/migrations/stored-filters.ts';
import { describeEngines } from '../support/engines.ts';

const raw = String.raw;

/** Filters as they were stored, and as they are stored now. */
const filters: readonly (readonly [before: string, after: string])[] = [
  [raw`t = 'it\'s' && u = "\""`, raw`t = 'it\'s' && u = "\""`],
  [raw`t ~ '50\%' || t ~ 'a\_b' // 'x\n`, raw`t ~ '50\%' || t ~ 'a\_b' // 'x\n`],
  [raw`t = 'C:\new\table\readme'`, raw`t = 'C:\\new\\table\\readme'`],
  [raw`t = 'a\\b' && u = "a\\b"`, raw`t = 'a\\\\b' && u = "a\\\\b"`],
  [raw`t = "it\'s" || t = 'say \"x\"'`, raw`t = "it\\'s" || t = 'say \\"x\\"'`],
  [raw`t = 'a\\' || u = b' || u != 'x'`, raw`t = 'a\\\' || u = b' || u != 'x'`],
  [raw`t = 'x\' // ' && u = "\\n" // "\n`, raw`t = 'x\' // ' && u = "\\\\n" // "\n`],
  ["t = 'two\nlines\\t' // it's", "t = 'two\nlines\\\\t' // it's"],
];
/** Its text had no end, and has one today. */
const unreadable = raw`t = 'a\'`;

describeEngines('stored filters', (open, engine) => {
  test('are rewritten once so that they mean what they meant, and old and new text are audited and logged', async (t) => {
    const database = await olderDatabase(engine, await open(t));
    const rules = Object.fromEntries(filters.map(([before], index) => [`rule${index}`, before]));
    const auth = { authRule: filters[3]?.[0], manageRule: null, mfa: { enabled: false, rule: unreadable } };
    await insert(database, 'collection', { definition: JSON.stringify({ rules, fields: [], auth }) });
    await insert(database, 'endpoint', { filter: filters[2]?.[0] ?? '' });
    await insert(database, 'replay', { filter: filters[4]?.[0] ?? '', state: 'running' });
    const notices: MigrationNotice[] = [];
    const migrations = migrationsOf(engine);
    for (const _ of ['first', 'again'])
      await migrate(database, migrations, { onNotice: (notice) => notices.push(notice) });
    const expected = {
      rules: Object.fromEntries(filters.map(([, after], index) => [`rule${index}`, after])),
      fields: [],
      auth: {
        authRule: filters[3]?.[1],
        manageRule: null,
        mfa: { enabled: false, rule: `(unreadable) ${unreadable}` },
      },
    };
    assert.deepEqual(JSON.parse(String(await valueOf(database, 'collection', 'definition'))), expected);
    assert.equal(await valueOf(database, 'endpoint', 'filter'), filters[2]?.[1]);
    assert.equal(await valueOf(database, 'replay', 'filter'), filters[4]?.[1]);

    const table = tableOf(engine, 'audit');
    const audit = await database.all(
      sql`SELECT action, outcome, actor, collection, target, details FROM ${table} ORDER BY position`,
    );
    const changed = filters.map(([before, after], index) => ({ name: `rule${index}`, before, after }));
    const wanted = [
      ...changed.filter(({ before, after }) => before !== after).map((details) => ['done', 'c', '', details]),
      ['done', 'c', '', { name: 'authRule', before: filters[3]?.[0], after: filters[3]?.[1] }],
      ['refused', 'c', '', { name: 'mfa.rule', before: unreadable, after: `(unreadable) ${unreadable}` }],
      ['done', '', 'e', { name: 'filter', before: filters[2]?.[0], after: filters[2]?.[1] }],
      ['done', '', 'r', { name: 'filter', before: filters[4]?.[0], after: filters[4]?.[1] }],
    ];
    assert.deepEqual(
      audit.map(({ outcome, collection, target, details }) => [
        outcome,
        collection,
        target,
        JSON.parse(String(details)),
      ]),
      wanted,
    );
    assert.equal(notices.length, wanted.length);
    const [first] = notices;
    assert.equal(first?.members['before'], changed.find(({ before, after }) => before !== after)?.before);
    assert.equal(notices.filter(({ message }) => message.includes('denies')).length, 1);
    assert.equal(await admitted(database, engine), migrations.indexOf(storedFilters) + 1);
  });

  test('without a text that is read otherwise admit older versions', async (t) => {
    const database = await olderDatabase(engine, await open(t));
    const rules = { listRule: filters[0]?.[0], viewRule: filters[1]?.[0], createRule: '', updateRule: null };
    await insert(database, 'collection', { definition: JSON.stringify({ rules, fields: [], auth: null }) });
    await insert(database, 'replay', { filter: filters[4]?.[0] ?? '', state: 'done' });
    await migrate(database, migrationsOf(engine), { onNotice: () => assert.fail('nothing has changed') });
    assert.equal(await admitted(database, engine), 1);
    assert.equal(await valueOf(database, 'replay', 'filter'), filters[4]?.[0]);
  });
});

test('a rewritten filter has the tokens that it had, whatever its texts', (t) => {
  const seed = 20_261_128;
  t.diagnostic(`seed ${seed}`);
  const piece = fc.constantFrom('\\', "'", '"', 'n', 't', 'a', '//', '\n', ' ', '%', '&&', '(', '=');
  const text = fc.array(piece, { maxLength: 14 }).map((all) => all.join(''));
  fc.assert(
    fc.property(text, (filter) => {
      const rewritten = rewriteTexts(filter);
      const before = oldTokens(filter);
      if (rewritten === undefined) assert.equal(before, 'unclosed');
      else assert.deepEqual(newTokens(rewritten), before);
    }),
    { seed, numRuns: 50_000 },
  );
});

function newTokens(filter: string): unknown {
  const tokens: unknown[] = [];
  for (let at = 0; ;) {
    try {
      const token = scanToken(filter, at);
      if (token.kind === 'end') return tokens;
      tokens.push(token.kind === 'text' ? [token.text] : token.text);
      at = token.end;
    } catch (error) {
      return /closing quote/.test(String(error)) ? 'unclosed' : [...tokens, 'refused'];
    }
  }
}

/** As `newTokens`, in the reading before: its texts are replaced by names before they are scanned. */
function oldTokens(filter: string): unknown {
  const values: string[] = [];
  let plain = '';
  for (let at = 0; at < filter.length; at += 1) {
    const mark = filter.charAt(at);
    if (filter.startsWith('//', at)) {
      const end = filter.indexOf('\n', at);
      const next = end === -1 ? filter.length : end;
      plain += filter.slice(at, next + 1);
      at = next;
    } else if (mark === "'" || mark === '"') {
      const [all, inner = ''] =
        new RegExp(`${mark}([^]*?)(?<!\\\\)${mark}`, 'y').exec(filter.slice(at)) ?? [];
      if (all === undefined) return 'unclosed';
      plain += `'${values.length}'`;
      values.push(inner.replaceAll(`\\${mark}`, mark));
      at += all.length - 1;
    } else plain += mark;
  }
  const tokens = newTokens(plain);
  assert.ok(Array.isArray(tokens));
  return tokens.map((token: unknown) => (Array.isArray(token) ? [values[Number(token[0])]] : token));
}

function migrationsOf(engine: Engine): typeof instanceMigrations {
  return engine === 'sqlite' ? instanceMigrations : postgresMigrations;
}

/** A database in the state before the step. */
async function olderDatabase(engine: Engine, database: Database): Promise<Database> {
  const migrations = migrationsOf(engine);
  await migrate(database, migrations.slice(0, migrations.indexOf(storedFilters)));
  return database;
}

type Table = 'collection' | 'endpoint' | 'replay' | 'audit' | 'migration';

function tableOf(engine: Engine, name: Table): Sql {
  const tables = {
    collection: [sql`"$collection"`, sql`chancery.collection`],
    endpoint: [sql`"$endpoint"`, sql`chancery.endpoint`],
    replay: [sql`"$replay"`, sql`chancery.replay`],
    audit: [sql`"$audit"`, sql`chancery.audit`],
    migration: [sql`"$migration"`, sql`chancery.migration`],
  } as const;
  return tables[name][engine === 'sqlite' ? 0 : 1];
}

async function valueOf(database: Database, table: Table, column: 'definition' | 'filter'): Promise<unknown> {
  const row = await database.get(sql`SELECT * FROM ${tableOf(database.engine, table)}`);
  return row?.[column];
}

async function admitted(database: Database, engine: Engine): Promise<number> {
  const row = await database.get(
    sql`SELECT admits FROM ${tableOf(engine, 'migration')} WHERE name = ${storedFilters.name}`,
  );
  return Number(row?.['admits']);
}

const zeros = {
  collection: sql`'c', 'c', 'base', 0`,
  endpoint: sql`'e', 'http://localhost', '', '[]', '[]', '{}', 1, 1000, 'active', '', ''`,
  replay: sql`'r', 1, 'all', 0, 0, 0, 0, 0, 0, 0`,
} as const;
const columns = {
  collection: sql`id, name, type, system`,
  endpoint: sql`id, url, description, events, collections, headers, max_in_flight, timeout_ms, status, status_reason, secret`,
  replay: sql`id, endpoint, scope, first, last, is_descending, rate, cursor, total, taken`,
} as const;

async function insert(
  database: Database,
  name: keyof typeof zeros,
  { definition, filter, state }: { definition?: string; filter?: string; state?: string },
): Promise<void> {
  const { engine } = database;
  const [text, column] = definition === undefined ? [filter, sql`filter`] : [definition, sql`definition`];
  const isScoped = engine === 'postgres';
  const names = sql`${isScoped ? sql`instance_id, ` : sql``}${columns[name]}, created, updated, ${column}${state === undefined ? sql`` : sql`, state`}`;
  const values = sql`${isScoped ? sql`'i', ` : sql``}${zeros[name]}, '', '', ${text ?? ''}${state === undefined ? sql`` : sql`, ${state}`}`;
  await database.write((tx) =>
    tx.run(sql`INSERT INTO ${tableOf(engine, name)} (${names}) VALUES (${values})`),
  );
}
