import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { Field } from '../fields/field.ts';
import { sqliteNames } from '../storage/sqlite/sqlite-names.ts';
import { type ImportPlan, readImportPlan } from './import-plan.ts';
import { scaffoldCollection } from './list-collections.ts';

/** Returns how often an import of as many new definitions looks at the collections that are there. */
async function looksOf(count: number): Promise<number> {
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
  const { created } = await readImportPlan(present, { collections }, { now: 0, database });
  assert.equal(created.length, count);
  return looks;
}

/** No definition here is a view. */
const unread = (): never => assert.fail('a query was read');
const database = { names: sqliteNames, describeView: unread, searchDraft: unread };

test('twice as many definitions look twice as often at twice as many collections', async () => {
  const looks = await looksOf(20);
  assert.ok(looks > 0);
  assert.equal(await looksOf(40), 2 * looks);
});

test('fields that an import keeps without naming them count like named ones', async () => {
  const text = (name: string): Field => ({
    id: `id_${name}`,
    name,
    type: 'text',
    system: false,
    hidden: false,
    presentable: false,
    help: '',
    options: {},
  });
  const present = Array.from({ length: 21 }, (_, at): Collection => {
    const scaffold = scaffoldCollection('base');
    const fields = Array.from({ length: 490 }, (_, number) => text(`f${number}`));
    return { ...scaffold, id: `id_${at}`, name: `wide_${at}`, fields: [...scaffold.fields, ...fields] };
  });
  const collections = present.map(({ name }) => ({ name, fields: [{ name: 'one_more', type: 'text' }] }));
  const planWith = (deleteMissing: boolean): Promise<ImportPlan> =>
    readImportPlan(present, { collections, deleteMissing }, { now: 0, database });
  await assert.rejects(planWith(false), AppError);
  assert.equal((await planWith(true)).changed.length, 21);
});
