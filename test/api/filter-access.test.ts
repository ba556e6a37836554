import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { FilterAccessStage, type NameTried, namesTried } from '../support/filter-access-stage.ts';

/**
 * spec/filter-access.json: what everybody is answered who names something in a filter or a sort, wherever one is read. A new place needs a row, a
 * new kind of caller a column. CHANCERY_WRITE_FILTER_ACCESS=1 writes the file again: look at the difference.
 */
interface FilterAccess {
  readonly callers: readonly string[];
  readonly names: Readonly<Record<string, string>>;
  readonly places: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

const file = new URL('../../spec/filter-access.json', import.meta.url);

test('what a filter may name follows from who asks, wherever a filter is read', async (t) => {
  const stage = await FilterAccessStage.start(t);
  const { callers, places } = stage;
  const found: Record<string, Record<string, readonly number[]>> = {};
  for (const [place, send] of Object.entries(places))
    for (const [kind, name] of Object.entries(namesTried)) {
      const statuses: number[] = [];
      for (const caller of callers) statuses.push(await send(caller, name));
      (found[place] ??= {})[kind] = statuses;
    }
  const table: FilterAccess = { callers, names: namesTried, places: found };
  if (process.env['CHANCERY_WRITE_FILTER_ACCESS'] === '1') writeFileSync(file, textOf(table));
  checkTable(table);
  for (const [place, rows] of Object.entries(found))
    assert.deepEqual(rows, readTable().places[place], `${place}, of ${callers.join(', ')}`);
  assert.deepEqual(table, readTable());
});

/** The names that only who reads records as a superuser may use. */
const secrets: readonly NameTried[] = [
  'hidden field',
  'hidden related field',
  'hidden relation',
  'superusers',
  'request',
];

/** What must hold whatever the file says: nobody learns by a filter elsewhere what a list of records does not tell them. */
function checkTable({ callers, places }: FilterAccess): void {
  for (const [index, caller] of callers.entries()) {
    const isAllowed = (place: string, name: NameTried): boolean =>
      (places[place]?.[name]?.[index] ?? 500) < 400;
    for (const place of Object.keys(places)) {
      for (const name of secrets)
        // Where even this passes, nothing is read: what is not reached is like what does not exist.
        if (isAllowed(place, name) && !isAllowed(place, 'no field'))
          assert.ok(isAllowed('list, filter', name), `${caller} may name a ${name}: ${place}`);
      for (const statuses of Object.values(places[place] ?? {}))
        assert.ok((statuses[index] ?? 500) < 500, `${caller}: ${place}`);
    }
    const isOfRecords = ['superuser', 'key records:read', 'key of all these', 'key admin'].includes(caller);
    assert.equal(isAllowed('list, filter', 'hidden field'), isOfRecords, caller);
  }
}

function readTable(): FilterAccess {
  return JSON.parse(readFileSync(file, 'utf8')) as FilterAccess; // Our own file, which the test above compares whole.
}

/** A row a line, so that a difference shows what has changed. */
function textOf({ callers, names, places }: FilterAccess): string {
  const rows = (members: Readonly<Record<string, readonly number[]>>): string =>
    Object.entries(members)
      .map(([name, statuses]) => `      ${JSON.stringify(name)}: [${statuses.join(', ')}]`)
      .join(',\n');
  const all = Object.entries(places).map(
    ([place, members]) => `    ${JSON.stringify(place)}: {\n${rows(members)}\n    }`,
  );
  return `{\n  "callers": ${JSON.stringify(callers)},\n  "names": ${JSON.stringify(names)},\n  "places": {\n${all.join(',\n')}\n  }\n}\n`;
}
