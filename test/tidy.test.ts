import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { checkTree } from '../tools/tidy/check-tree.ts';
import { tokenize } from '../tools/tidy/tokenize.ts';
import { temporaryTree, writeTree, type Tree } from './support/temporary-tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What tidy says about a tree, as `path:line rule`. */
function breaches(tree: Tree): readonly string[] {
  const files = Object.entries(tree).map(([path, text]) => ({ path, text }));
  return checkTree(files).map(({ path, line, rule }) => `${path}:${line} ${rule}`);
}

function assertRed(rule: string, tree: Tree): void {
  const found = breaches(tree);
  assert.ok(
    found.some((breach) => breach.endsWith(` ${rule}`)),
    `expected ${rule}, found: ${found.join('; ') || 'nothing'}`,
  );
}

function assertClean(tree: Tree): void {
  assert.deepEqual(breaches(tree), []);
}

/** A file of src/ that imports what is given and is otherwise in order. */
function importing(path: string, specifier: string): Tree {
  return { [path]: `import type { X } from '${specifier}';\nexport type ${pascal(path)} = X;\n` };
}

function pascal(path: string): string {
  const stem = path.replace(/^.*\//, '').replace(/\.ts$/, '');
  return stem.replaceAll(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Code in a place where every rule of src/ holds. */
function inRecords(code: string): Tree {
  return { 'src/records/expand.ts': `${code}\nexport function expand(): void {}\n` };
}

function lines(count: number): string {
  return '  void 0;\n'.repeat(count);
}

test('a tree in order is clean', () => {
  assertClean({
    'src/base/ids.ts': `import { randomBytes } from 'node:crypto';\nexport const newId = () => randomBytes(9);\n`,
    'src/storage/database.ts': `import { newId } from '../base/ids.ts';\nexport class Database { id = newId(); }\n`,
    'src/storage/migrations/0001-start.ts': `export const up = 'CREATE TABLE a (b)';\n`,
    'src/http/routes/records.ts': `import { fastify } from 'fastify';\nexport const recordRoutes = fastify;\n`,
    'src/main.ts': `import { cli } from './cli/cli.ts';\nprocess.exitCode = await cli();\n`,
    'src/cli/cli.ts': `export async function cli(): Promise<number> { return 0; }\n`,
    'src/config/config.ts': `export const config = process.env['PORT'];\n`,
    'README.md': 'Data lies in ./data, and /var/lib/chancery is a good place too.\n',
  });
});

describe('imports', () => {
  test('a part may not import a part that stands after it', () => {
    assertRed('import-order', importing('src/base/clock.ts', '../storage/database.ts'));
    assertRed('import-order', importing('src/http/server/server.ts', '../../app.ts'));
    assertClean(importing('src/records/expand.ts', '../storage/database.ts'));
    assertClean(importing('src/app.ts', './http/server/server.ts'));
    assertClean(importing('src/records/expand.ts', './record.ts'));
  });

  test('every form of import is seen', () => {
    const forms = [
      `import '../http/server.ts';`,
      `import type { Server } from '../http/server.ts';`,
      `import server, { type Server } from '../http/server.ts';`,
      `import * as server from '../http/server.ts';`,
      `export { server } from '../http/server.ts';`,
      `export type { Server } from '../http/server.ts';`,
      `export * from '../http/server.ts';`,
      `export * as server from '../http/server.ts';`,
      `const server = await import('../http/server.ts');`,
      'const server = await import(`../http/server.ts`);',
      `type Server = import('../http/server.ts').Server;`,
      'const path = "x"; await import(path);',
      'import {\n  server,\n} from "../http/server.ts";',
    ];
    for (const form of forms) assertRed('import-order', inRecords(form));
  });

  test('an import that is only spoken of is none', () => {
    assertClean(inRecords(`// import '../http/server.ts';\nconst a = "import '../http/server.ts'";`));
    assertClean(inRecords("const b = `import '../http/server.ts' ${a} import '../http/server.ts'`;"));
    assertClean(inRecords(`const url = import.meta.url; const c = /import '..\\/http\\/server.ts'/;`));
  });

  test('fields and filters know neither each other nor storage', () => {
    assertRed('import-order', importing('src/fields/text.ts', '../storage/database.ts'));
    assertRed('import-order', importing('src/fields/text.ts', '../filters/tree.ts'));
    assertRed('import-order', importing('src/filters/parse.ts', '../fields/text.ts'));
    assertRed('import-order', importing('src/filters/parse.ts', '../storage/database.ts'));
    assertClean(importing('src/filters/parse.ts', '../sql/sql.ts'));
  });

  test('engines do not know each other, and what records are does not know them', () => {
    const [sqlite, postgres] = [
      'src/storage/sqlite/sqlite-database.ts',
      'src/storage/postgres/postgres-database.ts',
    ];
    assertRed('import-order', importing(sqlite, '../postgres/postgres.ts'));
    assertRed('import-order', importing(postgres, '../sqlite/sqlite.ts'));
    assertRed('import-order', importing('src/records/expand.ts', '../storage/postgres/postgres.ts'));
    for (const path of [sqlite, postgres]) assertClean(importing(path, '../database.ts'));
    assertClean(importing('src/app.ts', './storage/sqlite/sqlite.ts'));
  });

  test('the product imports no tests, and a folder without a place in the order is refused', () => {
    assertRed('import-order', importing('src/records/expand.ts', '../../test/support/open.ts'));
    assertRed('import-order', importing('src/records/expand.ts', './expand.test.ts'));
    assertRed('import-order', { 'src/surprises/egg.ts': 'export const egg = 1;\n' });
  });

  test('a test beside its source may use any part', () => {
    assertClean({
      'src/filters/scan.test.ts': `import { open } from '../storage/sqlite.ts';\nopen(Date.now());\n`,
    });
  });

  test('a cycle is found, types included', () => {
    const tree = {
      'src/records/record.ts': `import { expand } from './expand.ts';\nexport const record = expand;\n`,
      'src/records/expand.ts': `import type { Page } from './page.ts';\nexport const expand = 1;\n`,
      'src/records/page.ts': `import type { Record } from './record.ts';\nexport type Page = Record;\n`,
    };
    const cycles = (files: Tree): readonly string[] =>
      breaches(files).filter((found) => found.endsWith(' cycle'));
    assert.deepEqual(cycles(tree), ['src/records/page.ts:1 cycle']);
    assert.deepEqual(cycles({ ...tree, 'src/records/page.ts': 'export type Page = 1;\n' }), []);
  });
});

describe('packages', () => {
  const owned = [
    ['node:sqlite', 'src/storage/sqlite/sqlite-database.ts'],
    ['pg', 'src/storage/postgres/postgres-database.ts'],
    ['node:crypto', 'src/secrets/token.ts'],
    ['node:crypto', 'src/sending/signature.ts'],
    ['bcryptjs', 'src/secrets/password.ts'],
    ['nodemailer', 'src/mail/mailer.ts'],
    ['undici', 'src/sending/guarded-agent.ts'],
    ['fastify', 'src/http/server/server.ts'],
    ['@fastify/cors', 'src/http/server/server.ts'],
    ['typebox/value', 'src/http/validation.ts'],
    ['prom-client', 'src/logs/metrics.ts'],
    ['pino', 'src/base/create-logger.ts'],
    ['commander', 'src/cli/cli.ts'],
    ['@clack/prompts', 'src/cli/cli.ts'],
    ['picocolors', 'src/cli/cli.ts'],
    ['node:worker_threads', 'src/sending/sender.ts'],
    ['node:http', 'src/http/server/server.ts'],
    ['node:https', 'src/sending/attempt.ts'],
    ['node:net', 'src/network/address.ts'],
    ['node:tls', 'src/http/server/server.ts'],
    ['node:dns', 'src/network/address.ts'],
    ['node:dns/promises', 'src/network/address.ts'],
  ] as const;
  for (const [name, path] of owned) {
    test(`${name} is for ${path}, not for records`, () => {
      assertClean(importing(path, name));
      assertRed('package-owner', importing('src/records/expand.ts', name));
    });
  }

  test('packages of the tests are never part of the product', () => {
    for (const name of ['standardwebhooks', 'pocketbase', 'fast-check', 'autocannon', 'node:process']) {
      assertRed('package-owner', importing('src/sending/signature.ts', name));
      assertClean({ 'test/api/sign.test.ts': `import '${name}';\n` });
    }
  });

  test('a package without an owner is refused, a part of Node without one is free', () => {
    assertRed('package-owner', importing('src/records/expand.ts', 'left-pad'));
    assertRed('package-owner', importing('src/records/expand.ts', 'crypto'));
    assertClean(importing('src/records/expand.ts', 'node:util'));
  });
});

test('of a part of Node that is costly to read whole, statements import types only', () => {
  const importingFrom = (name: string, clause: string): Tree => ({
    'src/http/server/cors.ts': `import ${clause} from '${name}';\nexport const cors = 1;\n`,
  });
  assertClean(importingFrom('node:http', 'type { IncomingMessage }'));
  assertRed('costly-import', importingFrom('node:http', '{ STATUS_CODES }'));
  assertRed('costly-import', importingFrom('node:http', '{ type IncomingMessage }'));
  assertRed('costly-import', importingFrom('node:tls', '{ connect }'));
});

describe('what is at hand without an import', () => {
  test('only config.ts reads the environment', () => {
    assertRed('environment', inRecords('const a = process.env.HOME;'));
    assertRed('environment', inRecords(`const a = process['env'];`));
    assertRed('environment', inRecords('const { env } = process;'));
    assertRed('environment', inRecords('const a = globalThis.process.env;'));
    assertClean({ 'tools/demo.ts': 'const a = process.env.HOME;\n' });
  });

  test('only main.ts exits', () => {
    assertRed('exit', inRecords('process.exit(1);'));
    assertRed('exit', inRecords('process.exitCode = 1;'));
    assertClean({ 'src/main.ts': 'process.exitCode = 1;\n' });
  });

  test('the time comes from the clock', () => {
    for (const code of [
      'Date.now();',
      'new Date();',
      'new Date;',
      'performance.now();',
      '`${Date.now()}`;',
    ]) {
      assertRed('clock', inRecords(code));
    }
    assertClean(inRecords('const a = new Date(0); clock.now(); const b = "Date.now()";'));
    assertClean({ 'src/base/clock.ts': 'export class Clock { now() { return Date.now(); } }\n' });
    assertClean({ 'bench/main.ts': 'performance.now();\n', 'test/support/wait.ts': 'new Date();\n' });
  });

  test('only print.ts of the commands writes to a terminal', () => {
    assertRed('terminal', inRecords('process.stdout.write(a);'));
    assertRed('terminal', inRecords('io.stderr.write(a);'));
    assertRed('terminal', inRecords('stdout.write(a);'));
  });

  test('randomness comes from base', () => {
    assertRed('randomness', inRecords('Math.random();'));
    assertRed('randomness', inRecords('crypto.randomUUID();'));
    assertRed('randomness', inRecords('globalThis.crypto.getRandomValues(a);'));
  });
});

describe('files and names', () => {
  test('barrels are refused', () => {
    assertRed('barrel', { 'src/records/index.ts': 'export const index = 1;\n' });
    assertRed('barrel', {
      'src/records/record.ts': `export { record } from './expand.ts';\nexport * from './a.ts';\n`,
    });
    assertRed('barrel', {
      'src/records/record.ts': `import { record } from './expand.ts';\nexport { record };\n`,
    });
    assertRed('barrel', { 'test/support/all.ts': `export type { A } from './a.ts';\n` });
    assertClean({ 'src/records/record.ts': `export { a } from './expand.ts';\nexport const record = 1;\n` });
  });

  test('file names are in kebab-case', () => {
    assertRed('file-name', { 'src/records/createRecord.ts': 'export const createRecord = 1;\n' });
    assertRed('file-name', { 'test/api/Sign_In.test.ts': '' });
  });

  test('a file is named after what it exports', () => {
    assertRed('file-name', { 'src/records/create-record.ts': 'export const updateRecord = 1;\n' });
    assertRed('file-name', { 'src/records/create-record.ts': 'const createRecord = 1;\n' });
    assertRed('file-name', { 'src/storage/sqlite/sqlite.ts': 'export const open = 1;\n' });
    assertClean({ 'src/records/create-record.ts': 'export async function createRecord() {}\n' });
    assertClean({ 'src/storage/database.ts': 'export abstract class Database {}\n' });
    assertClean({ 'src/storage/sqlite/sqlite.ts': 'export function openSqlite() {}\n' });
    assertRed('file-name', { 'src/records/create-record.ts': 'export const createRecordNow = 1;\n' });
    assertRed('file-name', { 'src/storage/engine-errors.ts': 'export const motor = 1, fault = 2;\n' });
    assertClean({ 'src/storage/engine-errors.ts': 'export function toEngineError() {}\n' });
    assertClean({ 'src/base/errors.ts': 'export class AppError {}\n' });
    assertClean({ 'src/records/expand.ts': 'const a = 1;\nexport { a as b, a as expand };\n' });
    assertClean({ 'src/sending/attempt-worker.ts': 'void 0;\n' });
  });

  test('folders that name a kind of file are refused', () => {
    for (const folder of ['utils', 'helpers', 'common', 'services', 'types', 'interfaces', 'models']) {
      assertRed('folder', { [`src/records/${folder}/record.ts`]: 'export const record = 1;\n' });
      assertRed('folder', { [`test/${folder}/record.ts`]: '' });
    }
  });

  test('exported names that say nothing are refused', () => {
    for (const word of ['Manager', 'Helper', 'Util', 'Data', 'Info', 'Impl']) {
      assertRed('name', { 'src/records/record.ts': `export class Record${word} {}\n` });
    }
    assertRed('name', { 'src/records/record.ts': 'export const helperForRecord = 1;\n' });
    assertClean({
      'src/records/record.ts': 'export const recordDataDirectory = 1;\nconst recordData = 1;\n',
    });
  });
});

describe('syntax', () => {
  test('enum, namespace, decorator and default export are refused', () => {
    assertRed('enum', inRecords('const enum Colour { red }'));
    assertRed('namespace', inRecords('declare namespace Colours { }'));
    assertRed('namespace', inRecords('declare module Colours { }'));
    assertClean(inRecords(`declare module 'colours' { }`));
    assertRed('decorator', inRecords('@sealed class Box {}'));
    assertRed('default-export', inRecords('export default 1;'));
    assertClean(inRecords('const a = { enum: 1, namespace: 2, module: 3 }; a.enum; a.default; // @sealed'));
  });

  test('a cast needs a comment', () => {
    for (const code of [
      'const a = b as C;',
      'f(x() as { y: 1 });',
      'const a = (b as unknown) ?? 1;',
      'y = {\n} as Z;',
    ]) {
      assertRed('cast', inRecords(code));
    }
    assertClean(inRecords('// The driver gives rows of this shape.\nconst a = b as C;'));
    assertClean(inRecords('const a = b as C; // the driver gives this'));
  });

  test('what only looks like a cast needs none', () => {
    assertClean(inRecords(`const a = ['b'] as const; const as = 1; a.as(b); f(as);`));
    assertClean(inRecords(`import * as b from './b.ts';\nimport { c as d, e as f } from './b.ts';`));
    assertClean(inRecords(`import type { c as d } from './b.ts';\nimport g, { h as i } from './b.ts';`));
    assertClean(inRecords('type T = { [K in keyof U as `x${K}`]: 1 };\nconst t = `${a} as b`;'));
  });
});

describe('text', () => {
  // Put together here, or tidy would find them in this very file.
  const [slash, host, scheme] = ['/', 'npmjs.org', 'https'];

  test('paths of one machine are refused in code and documents', () => {
    for (const folder of ['work', 'root', 'tmp']) {
      assertRed('machine-path', { 'docs/operating.md': `Look into ${slash}${folder}/main for it.\n` });
      assertRed('machine-path', inRecords(`const a = '${slash}${folder}/x';`));
    }
    assertClean({ 'docs/operating.md': 'See https://example.com/work/a, ./tmp/a and /var/tmp/a.\n' });
  });

  test('hosts of package registries are refused', () => {
    assertRed('registry-host', { 'README.md': `https://registry.${host}/pg\n` });
    assertRed('registry-host', {
      'package-lock.json': `{\n  "resolved": "${scheme}://a.example/b.tgz"\n}\n`,
    });
  });
});

describe('limits', () => {
  test('a named function of a test keeps to 70 lines, a suite need not', () => {
    const allowed = `function a(b: { c: 1 }): { d: 1 } {\n${lines(68)}}\n`;
    assertClean({ 'test/api/a.test.ts': `describe('a', () => {\n${allowed}${allowed}});\n` });
    assertClean({ 'test/api/a.test.ts': `const a = 1;\ndescribe('a', (b) => {\n${lines(100)}});\n` });
    for (const head of [
      'function a(): { d: 1 } {',
      'async function* a() {',
      'const a = async (b: 1): Promise<{ c: 1 }> => {',
    ]) {
      assertRed('function-lines', { 'test/api/a.test.ts': `${head}\n${lines(69)}}\n` });
    }
  });
});

test('the command prints file, line, rule and message, and exits 1 on any breach', (t) => {
  const folder = temporaryTree(t, {
    'src/base/ids.ts': 'export const ids = 1;\n',
    'node_modules/pg/index.ts': 'export {};\n',
  });
  const run = () =>
    spawnSync(process.execPath, [join(root, 'tools', 'tidy.ts'), folder], { encoding: 'utf8' });
  assert.deepEqual({ status: run().status, stdout: run().stdout }, { status: 0, stdout: '' });
  writeTree(folder, { 'src/base/ids.ts': '\nexport const ids = Date.now();\n' });
  assert.deepEqual(
    { status: run().status, stdout: run().stdout },
    { status: 1, stdout: 'src/base/ids.ts:2 clock the time comes from Clock\n' },
  );
});

describe('the tokenizer', () => {
  test('tells strings, templates, comments, regular expressions and divisions apart', () => {
    const code =
      "a = b / c / d; e = /[/\"]\\/x/g.test(`1${f({ g: `2${h}3` })}4`); i // \"j\n/* k */ l = 'm\\'n';";
    const { tokens, comments } = tokenize(code);
    const texts = (kind: string) => tokens.filter((token) => token.kind === kind).map((token) => token.text);
    assert.deepEqual(texts('word'), ['a', 'b', 'c', 'd', 'e', 'test', 'f', 'g', 'h', 'i', 'l']);
    assert.deepEqual(texts('regex'), ['/[/"]\\/x/g']);
    assert.deepEqual(texts('template'), ['`1${', '`2${', '}3`', '}4`']);
    assert.deepEqual(texts('string'), ["'m\\'n'"]);
    assert.deepEqual(comments, [
      { line: 1, lastLine: 1 },
      { line: 2, lastLine: 2 },
    ]);
    assert.equal(tokens.at(-1)?.line, 2);
  });
});
