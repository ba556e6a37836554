// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startBlog } from '../support/blog.ts';

/** The others are asked in src/filters/compile/compile.test.ts, of a table. */
const page = readFileSync(new URL('../../docs/filters.md', import.meta.url), 'utf8');

test('the examples of docs/filters.md about related records and rules select what they say', async (t) => {
  const { select } = await startBlog(t);
  const rows = [...page.matchAll(/^\| `(.+?)` +\| posts +\| (?:`([\w ]+)`|(nothing)|—) +\| (.*?) *\|$/gm)];
  assert.ok(rows.length > 20);
  assert.equal(rows.length, page.match(/^\| `.+?` +\| posts +\|/gm)?.length, 'a row is no example');
  for (const [, filter = '', ids, nothing, why = ''] of rows) {
    const answer = await select(filter);
    if (ids !== undefined || nothing !== undefined) assert.equal(answer, ids ?? '', filter);
    // The reason of a refusal, if it is code, is its message.
    else if (/^`[A-Z]/.test(why)) assert.equal(`\`${answer}\``, why, filter);
    else assert.match(answer, / at position \d+\.$/, filter);
  }
});

test('A22 the examples of docs/filters.md about what a guest may not list select what they say', async (t) => {
  const { select, ask } = await startBlog(t);
  const { status } = await ask('PATCH', '/people', { listRule: "team.name = 'red'" });
  assert.equal(status, 200);
  const rows = [...page.matchAll(/^\| `(.+?)` +\| guest +\| (?:`([\w ]+)`|nothing) +\|/gm)];
  assert.ok(rows.length >= 5);
  for (const [, filter = '', ids = ''] of rows)
    assert.equal(await select(filter, { asGuest: true }), ids, filter);
});
