import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import { MutantTree } from './run-mutants.ts';

const root = new URL('../..', import.meta.url);

describe('mutants', () => {
  test('are at least thirty, each with a name of its own and a text that stands once in its file', () => {
    assert.ok(mutants.length >= 30);
    assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
    for (const { name, file, from, to } of mutants) {
      const parts = readFileSync(new URL(file, root), 'utf8').split(from);
      assert.equal(
        parts.length,
        2,
        `${name}: expected the text once in ${file}, found it ${parts.length - 1} times`,
      );
      assert.notEqual(from, to, name);
    }
  });

  test('two of them are killed, and those that change nothing survive on both engines', async (t) => {
    const tree = new MutantTree();
    t.after(() => tree.remove());
    for (const name of ['a token is signed', 'so many requests a second are logged'])
      assert.equal(await tree.try(mutantOf(name)), 'killed', name);
    assert.equal(await tree.tryUnchanged(mutantOf('a token is signed')), 'survived');
    assert.equal(await tree.try({ ...mutantOf('a token is signed'), to: '}' }), 'broken');
    const onPostgres = mutantOf('a partition goes only when everything in it is old');
    assert.equal(onPostgres.engine, 'postgres');
    assert.equal(await tree.tryUnchanged(onPostgres), 'survived');
  });
});

function mutantOf(name: string): Mutant {
  const found = mutants.find((mutant) => mutant.name === name);
  assert.ok(found, name);
  return found;
}
