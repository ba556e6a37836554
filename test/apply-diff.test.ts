import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDiff } from './support/apply-diff.ts';

const files = new Map([['list.ts', 'one\ntwo\n\nthree\ntwo\nfour\n']]);
const apply = (diff: string): object => Object.fromEntries(applyDiff(diff, (path) => files.get(path)));
const list = (hunks: string): string => `--- a/list.ts\n+++ b/list.ts\n${hunks}`;

test('a diff changes lines wherever they stand, and adds files', () => {
  const hunks = '@@ -91,3 +91,3 @@ anything\n-two\n+zwei\n\n three\n@@ -95 +95,2 @@\n four\n+five\n';
  assert.deepEqual(apply(`${list(hunks)}--- /dev/null\n+++ b/new.ts\n@@ -0,0 +1,2 @@\n+a\n+b\n`), {
    'list.ts': 'one\nzwei\n\nthree\ntwo\nfour\nfive\n',
    'new.ts': 'a\nb\n',
  });
});

const refusals: readonly (readonly [diff: string, message: string])[] = [
  [
    list('@@ -1 +1 @@\n-one\n+1\n@@ -4,2 +4,2 @@\n three\n-zwei\n+2\n'),
    'list.ts, hunk 2 (@@ -4,2 +4,2 @@): line 5 is "two" instead of "zwei"',
  ],
  [list('@@ -1 +1 @@\n-1\n+one\n'), 'list.ts, hunk 1 (@@ -1 +1 @@): no line is "1"'],
  [
    list('@@ -4 +4 @@\n-four\n+4\n@@ -1 +1 @@\n-one\n+1\n'),
    'list.ts, hunk 2 (@@ -1 +1 @@): no line below line 6 is "one"',
  ],
  [
    list('@@ -2 +2 @@\n-two\n+2\n'),
    'list.ts, hunk 1 (@@ -2 +2 @@): its lines stand at lines 2 and 5; give it more context',
  ],
  [
    list('@@ -1,2 +1 @@\n-one\n+1\n'),
    'list.ts, hunk 1: @@ -1,2 +1 @@ should count 1 lines before and 1 after',
  ],
  [list('@@ -1,0 +1 @@\n+1\n'), 'list.ts, hunk 1 (@@ -1,0 +1 @@): it has no lines that say where it belongs'],
  [list('@@ -1 +1 @@\none\n'), 'list.ts, hunk 1: expected " ", "+" or "-" before "one"'],
  ['--- /dev/null\n+++ b/list.ts\n@@ -0,0 +1 @@\n+a\n', 'list.ts: the diff adds it, but it exists'],
  [
    '--- a/gone.ts\n+++ b/gone.ts\n@@ -1 +1 @@\n-a\n+b\n',
    'gone.ts: the diff changes it, but there is no such file',
  ],
];

for (const [diff, message] of refusals) {
  test(`a diff that does not fit is refused: ${message}`, () => {
    assert.throws(() => apply(diff), { message });
  });
}
