import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTree } from '../tools/tidy/check-tree.ts';

/** Returns the lines with a declared name that is a participle. */
function linesOf(text: string, path = 'src/storage/row.ts'): readonly number[] {
  return checkTree([{ path, text: `export const row = 1;\n${text}\n` }])
    .filter(({ rule }) => rule === 'declared-name')
    .map(({ line }) => line);
}

test('a participle alone is no name of a variable, a function, a parameter or a member', () => {
  const declarations = [
    'const known = 1;',
    'let found: string | undefined;',
    'function told() {}',
    'function read(asked: string) {}',
    'const read = (given: string) => 1;',
    'const read = (given) => 1;',
    'const read = given => 1;',
    'const { kept } = row;',
    'const { row: { shown } } = parts;',
    'const [taken, rest] = rows;',
    'interface Row { readonly held: boolean; }',
    'class Row { readonly #asked = 1; }',
    'const row = { wanted: 1 };',
  ];
  for (const declaration of declarations) assert.deepEqual(linesOf(declaration), [2], declaration);
});

test('a word that only begins so, a use, a text and a member of an answer are left alone', () => {
  const others = [
    'const knownRow = 1;',
    'const row = parts.known;',
    "const row = 'known';",
    'const row = `${known}`;',
    '// known',
  ];
  for (const text of others) assert.deepEqual(linesOf(text), [], text);
  assert.deepEqual(linesOf('const known = 1;', 'test/row.test.ts'), []);
  const view = 'interface ReplayView { readonly taken: number; }';
  assert.deepEqual(linesOf(view, 'src/deliveries/endpoints/request-replay.ts'), []);
});
