import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { foldCase, folds } from '../../src/base/case-folding.ts';
import { likePattern } from '../../src/filters/compile/compile.ts';
import type { LikeMatch } from '../../src/filters/dialect.ts';
import type { Operand } from '../../src/filters/operand.ts';
import { identifier, sql, type Sql } from '../../src/sql/sql.ts';
import { inSample } from '../support/sample.ts';
import { openEnginePair, type EnginePair, type ParityEngine } from './engine-pair.ts';

const columns = {
  text: { kind: 'text', isNullable: true },
  large: { kind: 'text', isNullable: true },
  folded: { kind: 'text', isNullable: true },
} as const;

/** Every character that folds to another, what it folds to, and those that people take for pairs. */
const characters = [...new Set([...[...folds()].flat(), ...'İIıißẞſsSKkKÅåÅΣσςµμᾳᾼ%_\\'.split('')])];
const filler = 'z'.repeat(9_000);

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
  const rows = characters.map((one) => [one, `x${one}y`, `x${one}y${filler}`, `x${foldCase(one)}y`]);
  for (const engine of engines) await engine.makeTable({ columns }, rows);
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

const operandOf = (name: keyof typeof columns): Operand => ({ sql: identifier(name), kind: 'text' });

async function idsWhere({ reader }: ParityEngine, condition: Sql): Promise<readonly string[]> {
  const found = await reader.tuples(sql`SELECT id FROM things WHERE ${condition} ORDER BY "$position"`);
  return found.map(([id]) => String(id));
}

test('A30 `:lower` folds every character as foldCase does, on both engines', async () => {
  for (const engine of engines) {
    const { dialect } = engine;
    const lowered = dialect.compare(dialect.lower(operandOf('text')), '=', operandOf('folded'));
    assert.deepEqual(await idsWhere(engine, lowered), characters, engine.engine);
  }
});

test('A30 `~` finds every form of a character, and no other, on both engines', async (t) => {
  const byFold = Map.groupBy(characters, foldCase);
  const [count, seed] = [inSample(40, 300), Math.floor(Math.random() * 1_000)];
  t.diagnostic(`from character ${seed} on`);
  for (let index = 0; index < count; index += 1) {
    const one = characters[(seed + index * 7) % characters.length] ?? '';
    const wanted = byFold.get(foldCase(one));
    // In a large text, the matcher that checks the deadline.
    const subject = operandOf(index % 50 === 0 ? 'large' : 'text');
    const patterns = [likePattern(one), `x${escaped(one)}y%`, `%_${escaped(one)}y%`];
    // Every text has an x and a y around the character, large ones a z behind it.
    const which = ['x', 'y', 'z'].includes(foldCase(one)) ? 1 : index % patterns.length;
    const pattern = patterns[which] ?? '';
    for (const engine of engines) {
      const match: LikeMatch = { subject, pattern, isNegated: false };
      const ids = await idsWhere(engine, engine.dialect.like(match));
      assert.deepEqual(ids, wanted, `${engine.engine} ${pattern}`);
      const others = await idsWhere(engine, engine.dialect.like({ ...match, isNegated: true }));
      assert.equal(others.length + ids.length, characters.length, `${engine.engine} !~ ${pattern}`);
    }
  }
});

function escaped(one: string): string {
  return /[%_\\]/.test(one) ? `\\${one}` : one;
}

test('A30 `~` with a pattern from a column folds both', async () => {
  const answers: string[] = [];
  for (const engine of engines) {
    const match = { subject: operandOf('text'), pattern: operandOf('folded'), isNegated: false };
    const ids = await idsWhere(engine, engine.dialect.like(match));
    answers.push(ids.join(''));
  }
  assert.deepEqual(new Set(answers).size, 1);
  // A lone backslash escapes the character behind it.
  assert.equal(answers[0], characters.filter((one) => one !== '\\').join(''));
});
