import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { FieldOptions, FieldType } from '../src/fields/field-type.ts';
import { fieldTypes } from '../src/fields/field-types.ts';
import { fileBytesMax } from '../src/fields/file-field.ts';
import { assertSameRows } from './support/assert-same-rows.ts';

const page = readFileSync(new URL('../docs/fields.md', import.meta.url), 'utf8');
const types = [...fieldTypes.values()];

/** The cells of each row of the table whose first line begins so. */
function rowsBelow(head: string): readonly (readonly string[])[] {
  const [, table = ''] = page.split(`\n| ${head} `);
  const rows = (table.split('\n\n')[0] ?? '').split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

interface Row {
  readonly type: string;
  readonly options: string;
  readonly empty: string;
}

const rows: readonly Row[] = rowsBelow('type').map(([type = '', options = '', empty = '']) => ({
  type: namesIn(type)[0] ?? type,
  options,
  empty,
}));

function rowsOf(values: (row: Row) => unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(rows.map((row) => [row.type, values(row)]));
}

function ofTypes(values: (type: FieldType) => unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(types.map((type) => [type.type, values(type)]));
}

describe('the table of field types in docs/fields.md', () => {
  test('has a row for every type and an option for every one that the type reads, with no others', () => {
    const inPage = rows.flatMap(({ type, options }) => [
      [type, true],
      ...namesIn(options)
        .filter((name) => name !== 'null')
        .map((name) => [`${type}.${name}`, true]),
    ]);
    const defined = types.flatMap((type) => [
      [type.type, true],
      ...Object.keys(optionsOf(type)).map((name) => [`${type.type}.${name}`, true]),
    ]);
    assertSameRows(
      Object.fromEntries(inPage),
      Object.fromEntries(defined),
      'types and options in docs/fields.md',
    );
  });

  test('names the empty value of every type', () => {
    const inPage = rowsOf(({ empty }) => (empty.startsWith('`') ? namesIn(empty) : empty));
    assertSameRows(inPage, ofTypes(emptyValues), 'empty values in docs/fields.md');
  });

  test('gives the limit that holds where the option is 0', () => {
    const inPage = rowsOf(({ options }) => sizeIn(/\(0: ([^)]+)\)/.exec(options)?.[1] ?? ''));
    assertSameRows(inPage, ofTypes(sizeMaxDefault), 'limits in docs/fields.md');
  });
});

test('the table of modifiers in docs/fields.md lists those of every type', () => {
  const pairs = rowsBelow('key').flatMap(([keys = '', fields = '']) =>
    (fields.match(/\w+/g) ?? []).flatMap((type) => namesIn(keys).map((key) => [`${key} of ${type}`, true])),
  );
  const defined = types.flatMap(({ type, modifiers = [] }) =>
    modifiers.map((key) => [`${key} of ${type}`, true]),
  );
  assertSameRows(Object.fromEntries(pairs), Object.fromEntries(defined), 'modifiers in docs/fields.md');
});

/** The options of a definition that gives none. */
function optionsOf(type: FieldType, given: FieldOptions = {}): FieldOptions {
  // Those that must be given have a problem, and a default all the same.
  return type.decodeOptions(given, { add: () => undefined });
}

/** JSON of the value of a new record, with one value and with several, or why there is none. */
function emptyValues(type: FieldType): unknown {
  if (type.stamp !== undefined) return '';
  if (type.column(optionsOf(type)) === undefined) return 'never shown';
  const values = [0, 2].map((maxSelect) => {
    const options = optionsOf(type, { maxSelect });
    return type.toJson(type.zero(options), options);
  });
  return [...new Set(values)];
}

/** `5,000`, `512 bytes` or `5 MiB` as a number; undefined for no text. */
function sizeIn(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^([\d,]+)(?: (\w+))?/.exec(text) ?? [];
  return digits === '' ? undefined : Number(digits.replaceAll(',', '')) * (unit === 'MiB' ? 1024 ** 2 : 1);
}

const largest = 6 * 1024 ** 2;

/** Returns the longest text that a type accepts in bytes or characters, whichever an ASCII text has; undefined for a type without such an option. */
function sizeMaxDefault(type: FieldType): number | undefined {
  const options = optionsOf(type);
  if (options['max'] !== 0 && options['maxSize'] !== 0) return undefined;
  if (type.type === 'file') return fileBytesMax({ maxSize: 0 });
  const isAccepted = (length: number): boolean => {
    const text = type.type === 'json' ? `"${'x'.repeat(length - 2)}"` : 'x'.repeat(length);
    return type.check(type.normalise(text, options), options) === undefined;
  };
  let [accepted, refused] = [10, largest];
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2);
    if (isAccepted(middle)) accepted = middle;
    else refused = middle;
  }
  return accepted;
}
