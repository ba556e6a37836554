import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection } from '../collections/collection.ts';
import { sqliteNames } from '../storage/sqlite/sqlite-names.ts';
import { readImportPlan } from './import-collections.ts';
import { scaffoldCollection } from './list-collections.ts';

/** Returns how often an import of as many new definitions looks at the collections that are there. */
function looksOf(count: number): number {
  let looks = 0;
  const present = Array.from({ length: count }, (_, at): Collection => {
    const name = `present_${at}`;
    return new Proxy(
      { ...scaffoldCollection('base'), id: name, name },
      {
        get: (collection, member) => {
          looks += 1;
          // Nothing else is asked for.
          return collection[member as keyof Collection];
        },
      },
    );
  });
  const collections = present.map((_, at) => ({
    name: `made_${at}`,
    indexes: [`CREATE INDEX on_${at} ON made_${at} (created)`],
  }));
  const { created } = readImportPlan(present, { collections }, { now: 0, names: sqliteNames });
  assert.equal(created.length, count);
  return looks;
}

test('twice as many definitions look twice as often at twice as many collections', () => {
  const looks = looksOf(20);
  assert.ok(looks > 0);
  assert.equal(looksOf(40), 2 * looks);
});
