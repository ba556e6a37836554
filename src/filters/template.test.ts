import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { parseFilter } from './parse.ts';
import { filterTemplate } from './template.ts';

const templates: readonly (readonly [text: string, form: string, literals: readonly unknown[]])[] = [
  ["title = 'a'", 'title = \u0000t', ['a']],
  ['title = "it\'s \\" " && n>-5.5', 'title = \u0000t && n>\u0000n', ['it\'s " ', -5.5]],
  ["a='1'||b=1", 'a=\u0000t||b=\u0000n', ['1', 1]],
  ["('x' ~ a)// it's 5\n&&b=7", "(\u0000t ~ a)// it's 5\n&&b=\u0000n", ['x', 7]],
  ["geoDistance(p.lon, 5, q.lat, 'x') < 3", "geoDistance(p.lon, 5, q.lat, 'x') < \u0000n", [3]],
  ["(strftime('%Y', a) = '2026')", "(strftime('%Y', a) = \u0000t)", ['2026']],
  ['a = @now && b = true', 'a = @now && b = true', []],
];

for (const [text, form, literals] of templates)
  test(`${text} is a form with ${literals.length} constant(s)`, () => {
    const template = filterTemplate(text);
    assert.deepEqual([template.form, template.literals], [form, literals]);
    for (const position of template.positions) assert.match(text.slice(position), /^['"\d-]/);
  });

const broken = [
  "a = = 'x",
  'a = 5.',
  'a = 9007199254740993',
  "a = 'x' & b = 'y",
  'a = \u0000',
  `a = '${'x'.repeat(4_000)}'`,
  "a =\u00e4 'x'",
];

for (const text of broken)
  test(`${JSON.stringify(text.slice(0, 30))} is refused as it is when it is parsed`, () => {
    const refusal = (work: () => unknown): unknown => {
      try {
        return work();
      } catch (error) {
        assert.ok(error instanceof AppError);
        return error.details;
      }
    };
    const details = refusal(() => filterTemplate(text));
    assert.ok(details !== undefined);
    assert.deepEqual(
      details,
      refusal(() => parseFilter(text)),
    );
  });
