import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { countTurns } from '../../test/support/count-turns.ts';
import { jsonLimits, parseJson, parseJsonInTurns } from './json.ts';
import { JsonOutline } from './json-outline.ts';

const seed = 20_261_126;

async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() };
  } catch (error) {
    return String(error);
  }
}

test('a text that is parsed in steps has the same value, or the same error, as one that is parsed at once', async (context) => {
  context.diagnostic(`seed ${seed}`);
  const space = fc.constantFrom('', '', ' ', '\n\t', '\r ');
  const escaped = fc.array(
    fc.constantFrom('a', 'é', '\\u0061', '\\n', '\\\\', '\\"', '\\ud83d\\ude00', '/', '{', ','),
  );
  const wrong = fc.constantFrom(
    '',
    '',
    '',
    '',
    ',',
    ']',
    '}',
    '"',
    '\\',
    ':',
    '[',
    '1',
    'nul',
    '\u0001',
    '\\u00',
  );
  const text = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('1', '-2.5e3', 'true', 'null', '""'),
      escaped.map((parts) => `"${parts.join('')}"`),
      fc.array(fc.tuple(space, tie('value')), { maxLength: 8 }).map((items) => `[${items.flat().join(',')}]`),
      fc
        .array(fc.tuple(space, tie('value'), space), { maxLength: 6 })
        .map((items) => `[${items.map((one) => one.join('')).join(',')}]`),
      fc
        .array(fc.tuple(space, escaped, space, tie('value'), space), { maxLength: 6 })
        .map(
          (members) =>
            `{${members.map(([a, key, b, value, c]) => `${a}"${key.join('')}"${b}:${String(value)}${c}`).join(',')}}`,
        ),
    ),
  })).value;
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(space, text, space).map((parts) => parts.join('')),
      fc.record({ mistake: wrong, at: fc.nat(), length: fc.constantFrom(1, 3, 8, 20) }),
      async (json, { mistake, at, length }) => {
        const place = at % (json.length + 1);
        const given = json.slice(0, place) + mistake + json.slice(place);
        const expected = await outcome(() => parseJson(given));
        assert.deepEqual(
          await outcome(() => parseJsonInTurns(given, jsonLimits, new JsonOutline(length))),
          expected,
        );
      },
    ),
    { numRuns: 1_000, seed },
  );
});

const pieceMax = 128 * 1024;

const large: readonly (readonly [name: string, text: string])[] = [
  ['five million escapes', `{"a":"${String.raw`\u0061`.repeat(5_000_000)}"}`],
  ['quotes in a text', `["${String.raw`\"`.repeat(2_000_000)}"]`],
  ['backslashes', `"${'\\\\'.repeat(2_000_000)}"`],
  ['numbers', `[${'1,'.repeat(450_000)}1]`],
  ['members', `{${Array.from({ length: 9_000 }, (_, index) => `"${index}":"${'x'.repeat(300)}"`).join()}}`],
  ['nested arrays', `${'['.repeat(60)}"${'x'.repeat(3_000_000)}"${']'.repeat(60)}`],
];

for (const [name, text] of large)
  test(`${name}: no step is longer than a piece, and other work goes on in between`, async () => {
    const [value, turns] = await countTurns(() => parseJsonInTurns(text));
    assert.ok(turns >= text.length / (4 * pieceMax), `${turns} turns`);
    assert.deepEqual(value, JSON.parse(text));
    const steps: number[] = [];
    const outline = new JsonOutline();
    await parseJsonInTurns(text, jsonLimits, outline);
    for (const step of outline.parse(text)) steps.push(step);
    // A piece ends at a comma, so with the member that it would else cut.
    assert.ok(Math.max(...steps) <= 2 * pieceMax, `${Math.max(...steps)} characters`);
  });
