import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

/** The rules that a file of src/ with this import breaks. */
function breaches(path: string, specifier: string): readonly string[] {
  const stem = path.replace(/^.*\//, '').replace(/\.ts$/, '');
  const text = `import type { X } from '${specifier}';\nexport type ${stem} = X;\n`;
  return checkTree([{ path, text }]).map(({ rule }) => rule);
}

const webhookParts = ['sending', 'endpoints', 'deliveries', 'dispatch'];

test('readers of the event log do not know each other, and webhooks know no records', () => {
  for (const part of webhookParts)
    for (const file of ['create-record', 'read-record', 'batch'])
      assert.deepEqual(breaches(`src/${part}/replay.ts`, `../records/${file}.ts`), ['import-order']);
  for (const reader of [...webhookParts, 'realtime'])
    assert.deepEqual(breaches(`src/${reader}/replay.ts`, '../events/event-log.ts'), []);
  for (const part of webhookParts) {
    assert.deepEqual(breaches(`src/${part}/replay.ts`, '../realtime/feed.ts'), ['import-order']);
    assert.deepEqual(breaches('src/realtime/feed.ts', `../${part}/replay.ts`), ['import-order']);
  }
});

test('sending knows no endpoints, endpoints no deliveries, and deliveries not who sends them', () => {
  for (const [index, part] of webhookParts.entries())
    for (const later of webhookParts.slice(index + 1)) {
      assert.deepEqual(breaches(`src/${part}/replay.ts`, `../${later}/replay.ts`), ['import-order']);
      assert.deepEqual(breaches(`src/${later}/replay.ts`, `../${part}/replay.ts`), []);
    }
});

/** The circles of folders in a tree of files that import what is listed. */
function circlesIn(tree: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const files = Object.entries(tree).map(([path, specifiers]) => {
    const stem = path.replace(/^.*\//, '').replace(/\.ts$/, '');
    const imports = specifiers.map((specifier, at) => `import type { X${at} } from '${specifier}';\n`);
    return { path, text: `${imports.join('')}export type ${stem} = 1;\n` };
  });
  return checkTree(files)
    .filter(({ rule }) => rule === 'folder-cycle')
    .map(({ path, line, message }) => `${path}:${line} ${message}`);
}

test('the folders of a room import each other in one direction only', () => {
  const tree = { 'src/sending/log/a.ts': ['../lane/b.ts'], 'src/sending/lane/b.ts': [] };
  assert.deepEqual(circlesIn(tree), []);
  const circle = { ...tree, 'src/sending/lane/c.ts': ['../../base/ids.ts', '../log/d.ts'] };
  assert.deepEqual(circlesIn({ ...circle, 'src/sending/log/d.ts': [] }), [
    'src/sending/lane/c.ts:2 src/sending/lane → src/sending/log → src/sending/lane',
    'src/sending/log/a.ts:1 src/sending/log → src/sending/lane → src/sending/log',
  ]);
});

test('a circle of folders may go round several, and what lies directly in a room is one of them', () => {
  assert.deepEqual(
    circlesIn({
      'src/sending/a.ts': ['./log/b.ts'],
      'src/sending/log/b.ts': ['../lane/c.ts', './e.ts'],
      'src/sending/log/e.ts': [],
      'src/sending/lane/c.ts': ['../d.ts'],
      'src/sending/d.ts': [],
    }).map((line) => line.split(' ')[0]),
    ['src/sending/a.ts:1', 'src/sending/lane/c.ts:1', 'src/sending/log/b.ts:1'],
  );
});

test('folders of different rooms, and tests, make no circles of folders', () => {
  assert.deepEqual(
    circlesIn({
      'src/endpoints/log/a.ts': ['../../sending/log/b.ts'],
      'src/sending/log/b.ts': ['../c.ts'],
      'src/sending/c.ts': [],
      'src/sending/c.test.ts': ['./log/b.ts'],
    }),
    [],
  );
});
