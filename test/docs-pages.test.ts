import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../tools/build/root.ts';

const read = (page: string): string => readFileSync(join(root, 'docs', page), 'utf8');
const pages = globSync('*.md', { cwd: join(root, 'docs') }).toSorted();

/** Pages to look things up in, which may be longer. The first lines of each say that it is a reference. */
const references = ['differences.md', 'filters.md', 'limits.md', 'webhooks-reference.md'];
const wordsMax = 2_500;

/** Lines of tables are no words. */
function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

test('no page of the documentation has more than 2,500 words, but references', () => {
  assert.ok(pages.length > 40, String(pages.length));
  const long = pages.filter((page) => countWords(read(page)) > wordsMax);
  assert.deepEqual(long, references);
  for (const page of references) assert.match(read(page).slice(0, 250), /[Rr]eference/, page);
});

test('CHANGELOG.md has at most 12 KB for a release, by subject', () => {
  const [, ...releases] = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^(?=## )/m);
  assert.ok(releases.length > 0);
  for (const release of releases) {
    const heading = release.slice(0, release.indexOf('\n'));
    assert.ok(Buffer.byteLength(release) <= 12_000, heading);
    assert.match(release, /^### .+$/m, heading);
  }
});

test('docs/README.md links every page of the documentation', () => {
  const map = read('README.md');
  const missing = pages.filter((page) => page !== 'README.md' && !map.includes(`](${page})`));
  assert.deepEqual(missing, []);
});
