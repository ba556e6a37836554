import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { besidePages, type BesideResults, readBeside, resultsFile } from '../../bench/support/beside-page.ts';
import { root } from '../../tools/build/root.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const isMeasured = existsSync(join(root, resultsFile));

const line = (what: string, perSecond: number): BesideResults['lines'][number] => ({
  what,
  chancery: { perSecond, p99Ms: 4 },
  pocketbase: { perSecond: perSecond / 2, p99Ms: 125 },
  ratio: 2.04,
});
const sample: BesideResults = {
  date: '2026-01-02',
  commit: '01234567',
  chancery: '1.2.3',
  pocketbase: '0.40.6',
  node: '26.9.0',
  processors: 2,
  processor: 'x64',
  memoryGb: 8,
  rows: 20_000,
  runs: 5,
  seconds: 3,
  lines: [
    line('create a record', 16_043),
    line('view a record by id', 42_010),
    line('list 30 of an author', 9_876),
    line('60 % views', 5_432),
  ],
};

test(
  'README.md and docs/benchmarks-beside.md have the figures of the last measurement',
  { skip: !isMeasured && 'not measured yet' },
  async () => {
    for (const [path, text] of await besidePages(readBeside())) assert.equal(read(path), text, path);
  },
);

test('figures beside PocketBase are written with three digits, their date, commit, versions and machine', async () => {
  const pages = await besidePages(sample);
  const page = pages.get('docs/benchmarks-beside.md') ?? '';
  assert.match(page, /^\| view a record by id +\| 42,000 +\| 4 +\| 21,000 +\| 130 +\| 2\.0 +\|$/m);
  for (const part of [
    '2026-01-02 at commit 01234567',
    'Chancery 1.2.3 on Node 26.9.0',
    'PocketBase 0.40.6',
    '2 processors',
  ])
    assert.ok(page.includes(part), part);
  const readme = pages.get('README.md') ?? '';
  assert.match(readme, /16,000 durable creates, 42,000 views or 5,430 mixed requests a second/);
  assert.match(readme, /PocketBase 0\.40\.6 on the same machine: 8,020, 21,000 and 2,720/);
  const others = (text: string): readonly string[] =>
    text.split('\n').filter((one) => !one.includes('docs/benchmarks'));
  assert.deepEqual(others(readme), others(read('README.md')), 'no other line of README.md changes');
  assert.ok(Buffer.byteLength(readme) <= 8 * 1024, 'README.md stays within 8 KB');
});

test('a measurement without the lines of README.md is not written', async () => {
  await assert.rejects(besidePages({ ...sample, lines: [] }), /lacks a load that README\.md has/);
});
