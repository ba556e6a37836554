import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

const path = 'src/events/position.ts';

/** What tidy says about a tree in which another file declares what is given. */
function breaches(declaration: string, other = 'src/storage/position.ts'): readonly string[] {
  const tree = { [path]: 'export interface Position {}\n', [other]: declaration };
  const files = Object.entries(tree).map(([file, text]) => ({ path: file, text }));
  return checkTree(files).map((violation) => `${violation.path}:${violation.line} ${violation.rule}`);
}

test('a type of src/ is exported by one file only', () => {
  const declarations = [
    'export type Position = 1;\n',
    'export interface Position<A> { a: A }\n',
    'export class Position {}\n',
    'export abstract class Position {}\n',
    'export declare class Position {}\n',
    'type Position = 1;\nexport { type Position };\n',
    'type Position = 1;\nexport type { Position };\n',
  ];
  for (const declaration of declarations) {
    const [breach, ...others] = breaches(declaration);
    assert.match(breach ?? '', /^src\/storage\/position\.ts:\d type-name$/, declaration);
    assert.deepEqual(others, []);
  }
});

test('an exported type of src/ is named by a noun', () => {
  const breachesOf = (name: string, other = 'src/storage/row.ts', prefix = 'export '): readonly string[] =>
    checkTree([{ path: other, text: `export const row = 1;\n${prefix}interface ${name} {}\n` }]).map(
      ({ line, rule }) => `${line} ${rule}`,
    );
  for (const name of ['Asked', 'Trimmed', 'Taken', 'Told', 'Found'])
    assert.deepEqual(breachesOf(name), ['2 type-noun'], name);
  for (const name of ['Feed', 'Need', 'TrimmedLog', 'AssertionFailed', 'Token'])
    assert.deepEqual(breachesOf(name), [], name);
  assert.deepEqual(breachesOf('Taken', 'src/storage/row.ts', ''), []);
  assert.deepEqual(breachesOf('Taken', 'kit/src/row.ts'), []);
});

test('a type that a file keeps for itself may be named as one of another file', () => {
  const kept = 'type Position = 1;\nexport const positionMax: Position = 1;\n';
  assert.deepEqual(breaches(kept), []);
  assert.deepEqual(
    breaches(
      `import type { Position } from '../events/position.ts';\nexport const position = 1;\n`,
      'src/deliveries/position.ts',
    ),
    [],
  );
  const parts = 'export interface PositionPart {}\nexport interface PositionPart { a: 1 }\n';
  assert.deepEqual(breaches(parts), []);
});

test('the kit, the dashboard and tests have names of their own', () => {
  for (const other of [
    'kit/src/position.ts',
    'dashboard/src/position.ts',
    'test/api/position.ts',
    'src/storage/position.test.ts',
  ])
    assert.deepEqual(breaches('export type Position = 1;\n', other), [], other);
});

test('the types of a package are extended in one file of src/ only', () => {
  const augmentation = (name: string): string => `declare module '${name}' { interface Request { a: 1 } }\n`;
  const tree = (second: string, other = 'src/http/second.ts'): readonly string[] =>
    checkTree([
      { path: 'src/http/first.ts', text: `${augmentation('fastify')}export const first = 1;\n` },
      { path: other, text: `export const second = 1;\n${second}` },
    ]).map((violation) => `${violation.path}:${violation.line} ${violation.rule}`);
  assert.deepEqual(tree(augmentation('fastify')), ['src/http/second.ts:2 augmentation']);
  assert.deepEqual(tree(augmentation('pino')), []);
  assert.deepEqual(tree(augmentation('fastify'), 'test/api/second.ts'), []);
});
