import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ruleTerms } from './rule.ts';

describe('the terms of a rule', () => {
  for (const [rule, texts] of [
    ['a=1', ['a=1']],
    [
      "a = 1 && (b ?~ 'x)' || c:lower != @request.auth.id)",
      ['a = 1', "b ?~ 'x)'", 'c:lower != @request.auth.id'],
    ],
    [
      "geoDistance(a.lon, a.lat, 1, 2) < 3 (strftime('%Y', b) = '2026')",
      ['geoDistance(a.lon, a.lat, 1, 2) < 3', "strftime('%Y', b) = '2026'"],
    ],
    ['((a = 1)) // because\n|| b = strftime("%Y") // why', ['a = 1', 'b = strftime("%Y")']],
    ['a = // between\n -1', ['a = // between\n -1']],
  ] as const)
    test(`${JSON.stringify(rule)} has ${texts.length}, each as it is written and where`, () => {
      const terms = ruleTerms(rule);
      assert.deepEqual(
        terms.map(({ text }) => text),
        texts,
      );
      for (const { text, position } of terms) assert.ok(rule.startsWith(text, position), text);
    });
});
