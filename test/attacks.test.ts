import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tokenize } from '../tools/tidy/tokenize.ts';
import { attackProblems, type Attack, type AttackGroup } from './support/attack-problems.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('spec/attacks.json', () => {
  test('says of each attack by which tests it is shown, or why it is not, and of no test that is not there', () => {
    const text = readFileSync(join(root, 'spec/attacks.json'), 'utf8');
    // Our own file; a member of another shape would be among the problems.
    const { groups } = JSON.parse(text) as { readonly groups: readonly AttackGroup[] };
    assert.deepEqual(
      groups.map(({ id }) => id),
      'H Q I S A T F W R B L X'.split(' '),
    );
    assert.deepEqual(attackProblems(groups, titlesOfTests()), []);
  });
});

describe('a table of attacks is wrong', () => {
  const title = 'H-02 an attack comes to nothing';
  const row: Attack = { id: 'H-02', what: 'an attack', tests: ['H-02'] };
  const group: AttackGroup = { id: 'H', last: 3, unused: [1, 3], rows: [row] };
  const problems = (change: Partial<AttackGroup>, titles: readonly string[] = [title]): readonly string[] =>
    attackProblems([{ ...group, ...change }], titles);

  test('in nothing, where each has its tests or its reason', () => {
    assert.deepEqual(problems({}), []);
    assert.deepEqual(problems({ rows: [{ ...row, tests: ['comes to nothing', 'H-02'] }] }), []);
    assert.deepEqual(problems({ rows: [{ id: 'H-02', what: 'an attack', reason: 'Not yet.' }] }, []), []);
  });

  test('where one has neither a test nor a reason, or does not say what it is', () => {
    for (const bare of [{}, { tests: [] }, { reason: '' }])
      assert.deepEqual(problems({ rows: [{ id: 'H-02', what: 'an attack', ...bare }] }, []), [
        'H-02 has neither a test nor a reason',
      ]);
    assert.deepEqual(problems({ rows: [{ ...row, what: '' }] }), ['H-02 does not say what it is']);
  });

  test('where one names a test that is not there', () => {
    assert.deepEqual(problems({}, []), ['H-02 names a test that there is not: H-02']);
    for (const gone of ['long gone', ''])
      assert.deepEqual(problems({ rows: [{ ...row, tests: ['H-02', gone] }] }), [
        `H-02 names a test that there is not: ${gone}`,
      ]);
  });

  test('where a test carries one that it does not have, or that does not name it', () => {
    assert.deepEqual(problems({}, [title, 'comes to nothing (H-03)']), [
      'no row is for H-03, which a title carries: comes to nothing (H-03)',
    ]);
    assert.deepEqual(problems({ rows: [{ id: 'H-02', what: 'an attack', reason: 'Not yet.' }] }), [
      `H-02 does not name a test that carries it: ${title}`,
    ]);
  });

  test('where a number is missing, there twice, or of no group', () => {
    assert.deepEqual(problems({ unused: [3] }), ['H-01 is missing']);
    assert.deepEqual(problems({ rows: [row, row] }), ['H-02 is there twice']);
    assert.deepEqual(problems({ unused: [1, 2, 3] }), ['H-02 is there twice']);
    assert.deepEqual(problems({ last: 2 }), ['H-03 is not of the numbers of H']);
    assert.deepEqual(problems({ rows: [row, { ...row, id: 'Q-01' }] }), ['Q-01 is not of the numbers of H']);
  });
});

/** Every text of every file of tests: titles are among them, and what titles are made of. */
function titlesOfTests(): readonly string[] {
  return globSync('{src,test}/**/*.test.ts', { cwd: root })
    .filter((path) => !path.endsWith('attacks.test.ts'))
    .flatMap((path) => tokenize(readFileSync(join(root, path), 'utf8')).tokens)
    .filter(({ kind }) => kind === 'string' || kind === 'template')
    .map(({ text }) => text);
}
