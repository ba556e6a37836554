import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';

type Rows = Readonly<Record<string, unknown>>;

/** Fails with a line for each row of `actual` that is missing, superfluous or different, by `expected`; `title` says what the rows are. */
export function assertSameRows(actual: Rows, expected: Rows, title: string): void {
  const lines = rowDifferences(actual, expected);
  if (lines.length > 0) assert.fail(`${title}\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

function rowDifferences(actual: Rows, expected: Rows): readonly string[] {
  const has = (rows: Rows, name: string): boolean => Object.hasOwn(rows, name);
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
  return names.toSorted().flatMap((name) => {
    if (!has(actual, name)) return `missing: ${name}`;
    if (!has(expected, name)) return `superfluous: ${name}`;
    if (isDeepStrictEqual(actual[name], expected[name])) return [];
    return `different: ${name}: ${JSON.stringify(actual[name])}, expected ${JSON.stringify(expected[name])}`;
  });
}
