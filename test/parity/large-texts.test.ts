import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import type { LikeMatch } from '../../src/filters/dialect.ts';
import type { Operand } from '../../src/filters/operand.ts';
import { identifier, sql } from '../../src/sql/sql.ts';
import { openEnginePair, type EnginePair, type ParityEngine } from './engine-pair.ts';

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

const columns = {
  short: { kind: 'text', isNullable: true },
  large: { kind: 'text', isNullable: true },
  pattern: { kind: 'text', isNullable: true },
} as const;

/** Ends each text and each pattern, and is nowhere else: what follows it in a large text is left to the `%` that ends the pattern. */
const end = 'q';
/** Makes a text larger than what either engine leaves to its own LIKE. */
const rest = 'z'.repeat(9_000);

const plain = ['a', 'A', 'b', 'é', '😀', '\n', ...'.*+?^$()[]{}|'.split('')];
const escaped = ['\\%', '\\_', '\\\\', '\\a', '\\.', '\\é'];
const sample = (units: readonly string[], numRuns: number, maxLength = 6): readonly string[] =>
  fc.sample(fc.string({ unit: fc.constantFrom(...units), maxLength }), { numRuns, seed: 20_261_120 });
const texts = sample([...plain, '%', '_', '\\'], 300);
const patterns = sample([...plain, ...escaped, ...'%%%%%%____aabb'.split('')], 300, 4);
const rows = texts.map((text, index) => {
  const short = `${text}${end}`;
  // A text often has a pattern that matches it.
  const pattern = index % 2 === 0 ? text.replaceAll(/[\\%_]/g, '_') : patterns[index];
  return [String(index), short, `${short}${rest}`, `${pattern}${end}`];
});

const operandOf = (name: keyof typeof columns): Operand => ({ sql: identifier(name), kind: 'text' });

/** Returns the ids of the rows that match, in one text. */
async function matches({ dialect, reader }: ParityEngine, match: LikeMatch): Promise<string> {
  const found = await reader.tuples(
    sql`SELECT id FROM things WHERE ${dialect.like(match)} ORDER BY "$position"`,
  );
  return found.flat().join(' ');
}

test('Q-13 a pattern matches the same in a large text as in a short one, on both engines', async () => {
  for (const engine of engines) {
    await engine.makeTable({ columns }, rows);
    const fromRows = operandOf('pattern');
    const fromFilters = patterns.slice(0, 20).map((pattern) => `%${pattern}${end}%`);
    const answers = new Set<string>();
    for (const pattern of [fromRows, ...fromFilters])
      for (const isNegated of [false, true]) {
        const [short, large] = await Promise.all(
          (['short', 'large'] as const).map((name) =>
            matches(engine, { subject: operandOf(name), pattern, isNegated }),
          ),
        );
        assert.equal(large, short, `${engine.engine} ${JSON.stringify(pattern)}`);
        answers.add(String(short));
      }
    assert.ok(answers.size > 15, 'the patterns tell the texts apart');
  }
});
