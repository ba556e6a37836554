import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compactJson, jsonDepthMax } from './json-field.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('JSON is compacted with its keys in order and the last of equal keys', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    [' { "b" : 1 , "a" : [ 1 , 2 ] } ', '{"b":1,"a":[1,2]}'],
    ['{"b":1,"2":2,"1":3}', '{"b":1,"2":2,"1":3}'],
    ['{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
    ['{"a":1,"\\u0061":2}', '{"a":2}'],
    ['{"__proto__":{"x":1},"constructor":2}', '{"__proto__":{"x":1},"constructor":2}'],
    ['[1.0,1e2,-0,1E+400]', undefined],
    ['[1.0,1e2,-0,1e21,0.10]', '[1,100,0,1e+21,0.1]'],
    ['[9007199254740991,-9007199254740991]', '[9007199254740991,-9007199254740991]'],
    ['9007199254740992', undefined],
    ['"a\\/b\\u00e9\\n\\"\\\\"', '"a/bé\\n\\"\\\\"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ['"\\ud83d"', undefined],
    ['"\ud83d"', undefined],
    ['"\\u0000"', undefined],
    ['{"\\u0000":1}', undefined],
    ['"\\\\u0000"', '"\\\\u0000"'],
    ['[ true , false , null , [ ] , { } ]', '[true,false,null,[],{}]'],
    ['', undefined],
    ['{', undefined],
    ['1 2', undefined],
    ['[1,]', undefined],
    ["{'a':1}", undefined],
    ['NaN', undefined],
    [nested(jsonDepthMax), nested(jsonDepthMax)],
    [nested(jsonDepthMax + 1), undefined],
    [nested(100_000), undefined],
  ];
  for (const [text, expected] of cases) assert.equal(compactJson(text), expected, text.slice(0, 60));
});

test('white space changes nothing: any value written with indents is compacted to what JSON.stringify writes', () => {
  const seed = 20_261_120;
  console.log(`seed ${seed}`);
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const plain = JSON.stringify(value);
      if (plain.includes('\\u0000') || /\d{16}/.test(plain)) return;
      assert.equal(compactJson(JSON.stringify(value, null, '\t')), plain);
    }),
    { seed, numRuns: 500 },
  );
});
