import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fromTimestamp } from '../../src/base/timestamp.ts';
import { listIds, type Answer } from './compare-world.ts';
import { openEnginePair, type EnginePair } from './engine-pair.ts';
import type { Column, World } from './world.ts';

/** spec/filters.json and the examples of docs/filters.md, on both engines. What is refused is refused before any of them. */
interface SpecTable {
  readonly fields: Readonly<Record<string, Column['kind']>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

interface SpecCase {
  readonly about?: string;
  readonly collection: string;
  readonly filter?: string;
  readonly sort?: string;
  readonly ids?: readonly string[];
}

interface Spec {
  readonly now: string;
  readonly collections: Readonly<Record<string, SpecTable>>;
  readonly cases: readonly SpecCase[];
}

// Our own file; a member of another shape fails the cases that use it.
const spec = JSON.parse(readFileSync(new URL('../../spec/filters.json', import.meta.url), 'utf8')) as Spec;
const now = fromTimestamp(spec.now);

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

for (const [name, table] of Object.entries(spec.collections)) {
  test(`both engines select what spec/filters.json says of ${name}`, async () => {
    const cases = spec.cases.filter(({ collection, ids }) => collection === name && ids !== undefined);
    assert.ok(cases.length > 0);
    const world = await makeTables(table);
    for (const { about, ids, filter, sort } of cases) {
      const question = {
        ...(filter === undefined ? {} : { filter }),
        ...(sort === undefined ? {} : { sort }),
      };
      for (const engine of engines) {
        const { ids: selected } = await listIds(engine, { world, question, now });
        assert.deepEqual(selected, ids, `${engine.engine}: ${JSON.stringify(question)} ${about ?? ''}`);
      }
    }
  });
}

test('both engines select what the examples of docs/filters.md say', async () => {
  const page = readFileSync(new URL('../../docs/filters.md', import.meta.url), 'utf8');
  const block = /^```json\n(.*?)^```/ms.exec(page)?.[1];
  assert.ok(block !== undefined, 'the page has no table');
  // Our own page, as our own file above.
  const world = await makeTables(JSON.parse(block) as SpecTable);
  const examples = [...page.matchAll(/^\| `(.+?)` +\| (filter|sort) +\| (?:`(\w+)`|nothing) /gm)];
  assert.ok(examples.length > 40);
  for (const [, code = '', what = '', ids = ''] of examples) {
    const question = { [what]: code.replaceAll('\\|', '|') };
    for (const engine of engines) {
      const answer: Answer = await listIds(engine, { world, question, now });
      assert.equal(answer.ids.join(''), ids, `${engine.engine}: ${code}`);
    }
  }
});

/** The columns of a record table, but nullable, as those of a joined table are. */
async function makeTables({ fields, rows }: SpecTable): Promise<World> {
  const columns = Object.fromEntries(
    Object.entries(fields).map(([name, kind]) => [name, { kind, isNullable: true }]),
  );
  const stored = rows.map((row) => [
    String(row['id']),
    ...Object.entries(fields).map(([name, kind]) => toStored(row[name], kind)),
  ]);
  const world = { columns, rows: [], questions: [] };
  await Promise.all(engines.map((engine) => engine.makeTable(world, stored)));
  return world;
}

function toStored(value: unknown, kind: Column['kind']): string | number | null {
  if (value === null || value === undefined) return null;
  if (kind === 'json' || kind === 'multiple') return JSON.stringify(value);
  if (typeof value === 'boolean') return Number(value);
  assert.ok(typeof value === 'string' || typeof value === 'number');
  return value;
}
