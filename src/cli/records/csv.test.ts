import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { csvCells } from '../../../test/support/csv-cells.ts';
import { cellOfText, csvLine, readCsv, textOfCell } from './csv.ts';
import { cellText, cellValue } from './record-values.ts';

const seed = 20_261_127;
const marks = ["'", '=', '+', '-', '@', '\t', '\r', '\n', '"', ',', ' ', ';', 'a', '\uFEFF', '[', '{'];
/** Texts of the characters that mean something to CSV or to a spreadsheet, and of any others. */
const texts = fc.oneof(fc.string({ unit: fc.constantFrom(...marks) }), fc.string({ unit: 'grapheme' }));

async function rowsOf(pieces: readonly string[]): Promise<readonly (readonly string[])[]> {
  return (await Array.fromAsync(readCsv(streamOf(pieces)))).map(({ cells }) => cells);
}

async function* streamOf(pieces: readonly string[]): AsyncGenerator<string> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

/** Writes rows below a head, cuts the text at some places, and reads it again. */
async function readAgain(
  rows: readonly (readonly string[])[],
  cuts: readonly number[],
): Promise<readonly (readonly string[])[]> {
  const text = [['head'], ...rows].map(csvLine).join('');
  // A decoder of UTF-8 never cuts a character.
  const whole = (place: number): number => (/^[\uDC00-\uDFFF]/.test(text.slice(place)) ? place + 1 : place);
  const places = [0, ...cuts.map((cut) => whole(cut % text.length)).toSorted((a, b) => a - b), text.length];
  const pieces = places.slice(1).map((place, at) => text.slice(places[at], place));
  return (await rowsOf(pieces.filter((piece) => piece !== ''))).slice(1);
}

test('what is written as CSV is read again as it was, wherever the text is cut', async (context) => {
  context.diagnostic(`seed ${seed}`);
  const rows = fc.array(fc.array(texts, { minLength: 1, maxLength: 4 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(rows, fc.array(fc.nat(), { maxLength: 5 }), async (given, cuts) => {
      assert.deepEqual(await readAgain(given, cuts), given);
    }),
    { numRuns: 1_000, seed },
  );
});

test('no text is a cell that a spreadsheet runs, and every cell is read as its text', () => {
  for (const [text, cell] of csvCells) assert.deepEqual([cellOfText(text), textOfCell(cell)], [cell, text]);
  fc.assert(
    fc.property(texts, (text) => {
      assert.doesNotMatch(cellOfText(text), /^[=+\-@\t\r]/);
      assert.equal(textOfCell(cellOfText(text)), text);
    }),
    { numRuns: 5_000, seed },
  );
});

test('the values of every type of field are read from their cells as they were', async (context) => {
  context.diagnostic(`seed ${seed}`);
  const ofType = {
    text: texts,
    number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    bool: fc.boolean(),
    json: fc.oneof(texts, fc.jsonValue()).map((value): unknown => JSON.parse(JSON.stringify(value))),
    geoPoint: fc.record({ lon: fc.integer(), lat: fc.integer() }, { noNullPrototype: true }),
  };
  for (const [type, values] of Object.entries(ofType))
    for (const isRaw of [false, true])
      await fc.assert(
        fc.asyncProperty(values, fc.array(texts), async (value, list) => {
          const shape = { name: 'a', type, isMultiple: false };
          const form = { shape, isRaw };
          const many = { shape: { name: 'b', type: 'select', isMultiple: true }, isRaw };
          const [row = []] = await readAgain([[cellText(value, form), cellText(list, many)]], []);
          assert.deepEqual(cellValue(row[0] ?? '', form), value);
          assert.deepEqual(cellValue(row[1] ?? '', many), list);
        }),
        { numRuns: 300, seed },
      );
});
