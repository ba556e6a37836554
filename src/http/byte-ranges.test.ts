import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRanges, rangesMax } from './byte-ranges.ts';

function rangesOf(header: string | undefined, size = 10): string {
  const ranges = parseRanges(header, size);
  return ranges === undefined ? 'whole' : ranges.map(({ first, last }) => `${first}-${last}`).join();
}

test('ranges are read as RFC 9110 has them', () => {
  for (const [header, expected] of [
    ['bytes=0-', '0-9'],
    ['bytes=0-0', '0-0'],
    ['bytes=3-5', '3-5'],
    ['Bytes=3-5', '3-5'],
    ['bytes=5-100', '5-9'],
    ['bytes=-1', '9-9'],
    ['bytes=-100', '0-9'],
    ['bytes=0-1, 4-5 ,,-1', '0-1,4-5,9-9'],
    ['bytes=8-9,0-1', '8-9,0-1'],
    ['bytes=0-1,20-30', '0-1'],
    ['bytes=0-18446744073709551615', '0-9'],
  ] as const)
    assert.equal(rangesOf(header), expected, header);
});

test('bytes behind the end are none', () => {
  for (const header of [
    'bytes=10-',
    'bytes=10-20',
    'bytes=-0',
    'bytes=18446744073709551615-',
    'bytes=10-,20-',
  ])
    assert.equal(rangesOf(header), '', header);
});

test('a header of another form, and any for nothing, is answered with the whole', () => {
  for (const header of [
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=,',
    'bytes=-',
    'bytes=a-',
    'bytes=5-1',
    'bytes=0-1;2-3',
    'bytes=1',
    'bytes=0x1-2',
    'bytes=+1-2',
    'bytes=1-2-3',
    'bytes=0-1,x',
    'lines=0-1',
  ])
    assert.equal(rangesOf(header), 'whole', String(header));
  assert.equal(rangesOf('bytes=0-', 0), 'whole');
  assert.equal(rangesOf('bytes=-5', 0), 'whole');
});

test('no request makes an answer longer than the content, or one of many parts', () => {
  const ranges = (count: number): string =>
    `bytes=${Array.from({ length: count }, (_, at) => `${2 * at}-${2 * at}`).join()}`;
  assert.equal(parseRanges(ranges(rangesMax), 1_000)?.length, rangesMax);
  assert.equal(rangesOf(ranges(rangesMax + 1), 1_000), 'whole');
  assert.equal(rangesOf(`bytes=${'20-,'.repeat(1_000)}`), 'whole');
  for (const header of ['bytes=0-5,5-6', 'bytes=0-,0-', 'bytes=5-6,0-5', 'bytes=0-9,-1'])
    assert.equal(rangesOf(header), 'whole', header);
});
