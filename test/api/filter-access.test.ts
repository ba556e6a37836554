import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { staleMessage } from '../../tools/build/generated-files.ts';
import { root } from '../../tools/build/root.ts';
import { assertSameRows } from '../support/assert-same-rows.ts';
import { FilterAccessStage, type NameTried, namesTried } from '../support/filter-access-stage.ts';
import { isGenerating } from '../support/test-config.ts';

/**
 * spec/filter-access.json: what everybody is answered who names something in a filter or a sort, wherever one is read. A new place needs a row, a
 * new kind of caller a column. `npm run generate` writes the file again: look at the difference.
 */
interface FilterAccess {
  readonly callers: readonly string[];
  readonly names: Readonly<Record<string, string>>;
  readonly places: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

const path = 'spec/filter-access.json';
const file = join(root, path);

test('what a filter may name follows from who asks, wherever a filter is read', async (t) => {
  const stage = await FilterAccessStage.start(t);
  const { callers, places } = stage;
  const found: Record<string, Record<string, readonly number[]>> = {};
  for (const [place, send] of Object.entries(places))
    for (const [kind, name] of Object.entries(namesTried)) {
      (found[place] ??= {})[kind] = await Promise.all(callers.map((caller) => send(caller, name)));
    }
  const table: FilterAccess = { callers, names: namesTried, places: found };
  checkTable(table);
  if (isGenerating) writeFileSync(file, textOf(table));
  assertSameRows(statusesOf(table), statusesOf(readTable()), staleMessage([path]));
  assert.equal(textOf(table), readFileSync(file, 'utf8'), staleMessage([path]));
});

/** Returns each status of the table by the place, the name that is tried there, and the caller. */
function statusesOf({ callers, places }: FilterAccess): Readonly<Record<string, number | undefined>> {
  const entries = Object.entries(places).flatMap(([place, rows]) =>
    Object.entries(rows).flatMap(([name, statuses]) =>
      callers.map((caller, index) => [`${place}: ${name} by ${caller}`, statuses[index]] as const),
    ),
  );
  return Object.fromEntries(entries);
}

/** The place that says what a caller may name. */
const lists = 'GET /api/collections/{collection}/records, filter';

test('every operation that reads a filter or a sort has a row', () => {
  const rows = readTable().places;
  const operations = operationsOf(readDescription());
  assert.ok(operations.length > 20);
  // A key of the operator has no collections that it might not see.
  const ofInstances = operations.filter((operation) => !operation.includes(' /api/operator/'));
  const missing = ofInstances.filter((operation) => !(operation in rows));
  assert.deepEqual(missing, [], 'operations without a row in spec/filter-access.json');
});

/** An OpenAPI document, as far as it is read here. */
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly parameters?: readonly object[];
  readonly requestBody?: object;
}

function readDescription(): Description {
  // Our own file, which other tests compare whole with the routes.
  return JSON.parse(readFileSync(new URL('../../spec/openapi.json', import.meta.url), 'utf8')) as Description;
}

function operationsOf(description: Description): readonly string[] {
  const found: string[] = [];
  for (const [path, operations] of Object.entries(description.paths))
    for (const [method, { parameters = [], requestBody = {} }] of Object.entries(operations)) {
      const place = `${method.toUpperCase()} ${path}`;
      for (const name of ['filter', 'sort'])
        if (textsOf(description, parameters).some((text) => text.includes(`"name":"${name}"`)))
          found.push(`${place}, ${name}`);
      if (textsOf(description, requestBody).some((text) => text.includes('"filter":'))) found.push(place);
    }
  return found;
}

/** Returns the JSON of a part of the document, and of everything that it refers to. */
function textsOf(description: Description, part: object): readonly string[] {
  const texts = new Map<string, string>([['', JSON.stringify(part)]]);
  for (const text of texts.values())
    for (const [, reference = ''] of text.matchAll(/"\$ref":"#\/(.+?)"/g))
      texts.set(reference, JSON.stringify(memberAt(description, reference.split('/'))));
  return [...texts.values()];
}

function memberAt(value: unknown, names: readonly string[]): unknown {
  // A reference that leads nowhere fails other tests.
  return names.reduce((at, name) => (at as Readonly<Record<string, unknown>>)[name], value);
}

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
          assert.ok(isAllowed(lists, name), `${caller} may name a ${name}: ${place}`);
      for (const statuses of Object.values(places[place] ?? {}))
        assert.ok((statuses[index] ?? 500) < 500, `${caller}: ${place}`);
    }
    const isOfRecords = ['superuser', 'key records:read', 'key of all these', 'key admin'].includes(caller);
    assert.equal(isAllowed(lists, 'hidden field'), isOfRecords, caller);
  }
}

function readTable(): FilterAccess {
  return JSON.parse(readFileSync(file, 'utf8')) as FilterAccess; // Our own file, which the test above compares whole.
}

/** A row a line, so that a difference shows what has changed. */
function textOf({ places, ...columns }: FilterAccess): string {
  const rows = (members: Readonly<Record<string, readonly number[]>>): string =>
    Object.entries(members)
      .map(([name, statuses]) => `      ${JSON.stringify(name)}: [${statuses.join(', ')}]`)
      .join(',\n');
  const all = Object.entries(places).map(
    ([place, members]) => `    ${JSON.stringify(place)}: {\n${rows(members)}\n    }`,
  );
  const begin = JSON.stringify(columns, null, 2).replace(/\n}$/, '');
  return `${begin},\n  "places": {\n${all.join(',\n')}\n  }\n}\n`;
}
