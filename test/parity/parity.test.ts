import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql, type Sql, withValues } from '../../src/sql/sql.ts';
import type { Tuple } from '../../src/storage/database.ts';
import { compareWorld, listIds, type Tally } from './compare-world.ts';
import { openEnginePair, type EnginePair } from './engine-pair.ts';
import { readCorpus, runParity } from './run-parity.ts';
import type { Column, Question } from './world.ts';
import { inSample } from '../support/sample.ts';

let engines: EnginePair;
before(async () => {
  engines = await openEnginePair();
});
after(() => Promise.all(engines.map((engine) => engine.stop())));

const nothing = (): Tally => ({ questions: 0, refused: 0, telling: 0 });

test('what the engines once answered differently they answer alike', async () => {
  for (const { about, world } of readCorpus())
    assert.equal(await compareWorld(engines, world), undefined, about);
});

test('both engines answer thousands of random questions alike', async (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}; more with npm run parity`);
  const tally = nothing();
  const cases = inSample(2_500, 4_000);
  const failure = await runParity(engines, { cases, seed }, tally);
  assert.equal(failure && JSON.stringify(failure), undefined);
  assert.ok(tally.questions >= cases, 'too few questions were asked');
  assert.ok(tally.telling > tally.questions / 4, 'too many answers are everything or nothing');
  assert.ok(tally.refused < tally.questions / 10, 'too many questions are refused');
});

test('an engine that answers differently is found out, with a small world to show it', async () => {
  const [sqlite, postgres] = engines;
  const nullsWherePostgresPutsThem = {
    ...postgres.dialect,
    orderBy: (operand, isDescending) => (isDescending ? sql`${operand.sql} DESC` : operand.sql),
  } satisfies typeof postgres.dialect;
  const careless = [sqlite, { ...postgres, dialect: nullsWherePostgresPutsThem }] as const;
  const failure = await runParity(careless, { cases: 2_000, seed: 1 }, nothing());
  assert.ok(failure !== undefined);
  assert.ok(failure.world.rows.length <= 2, JSON.stringify(failure));
  assert.deepEqual(Object.keys(failure.difference.question), ['sort']);
});

test('a pattern that ends in an escape, which no filter can write, matches nothing and fails nowhere', async () => {
  const world = { columns: { title: { kind: 'text', isNullable: true } } } as const;
  const subject = { sql: sql`title`, kind: 'text' } as const;
  for (const engine of engines) {
    const { dialect, reader } = engine;
    await engine.makeTable(world, [
      ['a', '\\'],
      ['b', 'x\\'],
      ['c', null],
      ['d', ''],
    ]);
    const like = (pattern: string, isNegated: boolean): Promise<Tuple[]> =>
      reader.tuples(
        sql`SELECT id FROM things WHERE ${dialect.like({ subject, pattern, isNegated })} ORDER BY id`,
      );
    for (const pattern of ['%\\', '\\', 'x\\\\\\']) {
      assert.deepEqual(await like(pattern, false), []);
      assert.deepEqual((await like(pattern, true)).flat(), ['a', 'b', 'd']);
    }
    assert.deepEqual((await like('%\\\\', false)).flat(), ['a', 'b']);
  }
});

const served: readonly (readonly [question: Question, index: string])[] = [
  [{ filter: `category = 'c5'` }, 'things_category_idx'],
  [{ filter: `category = ''` }, 'things_category_idx'],
  [{ filter: 'price = 5' }, 'things_price_idx'],
  [{ filter: `price > 10 && price <= '12'` }, 'things_price_idx'],
  [{ filter: 'sold = true' }, 'things_sold_idx'],
  [{ filter: `id = 'r77'` }, 'things_id_key'],
  [{ sort: 'created' }, 'things_created_$position_idx'],
  [{ sort: '-created' }, 'things_created_$position_idx'],
  [{ sort: '-created', filter: `created >= '0100'` }, 'things_created_$position_idx'],
  [{}, 'things_pkey'],
  [{ sort: '-@rowid' }, 'things_pkey'],
];

test('plain comparisons and plain orders are served by plain indexes', async () => {
  const [, postgres] = engines;
  const tuples = (statement: Sql): Promise<Tuple[]> => postgres.reader.tuples(statement);
  const column = (kind: Column['kind']): Column => ({ kind, isNullable: false });
  const columns = {
    category: { ...column('text'), isShort: true },
    created: column('date'),
    price: column('number'),
    sold: column('bool'),
  };
  await postgres.makeTable({ columns }, []);
  await tuples(sql`INSERT INTO things (id, category, created, price, sold)
    SELECT 'r' || i, 'c' || i % 500, to_char(i, 'FM000000'), i / 7.0, (i % 500 = 0)::integer FROM generate_series(1, 20000) AS i`);
  for (const indexed of ['category', 'created, "$position"', 'price', 'sold'])
    await tuples({ ...sql`ANALYZE things`, text: `CREATE INDEX ON things (${indexed})` });
  await tuples(sql`ANALYZE things`);
  for (const [question, index] of served) {
    const plans: string[] = [];
    const explain = async (statement: Sql): Promise<Tuple[]> => {
      // Of the page: the total of a whole table counts all of it.
      const { text } = statement;
      const page = /\((SELECT .*)\) SELECT \*, CASE WHEN /s.exec(text)?.[1] ?? text;
      const explained = withValues(statement, statement.values.slice(0, page.split('?').length - 1));
      plans.push((await tuples(sql`EXPLAIN ${{ ...explained, text: page }}`)).flat().join('\n'));
      return [];
    };
    const explaining = { ...postgres.reader, tuples: explain, search: explain };
    const world = { columns, rows: [], questions: [] };
    await listIds({ ...postgres, reader: explaining }, { world, question, now: 0 });
    const [plan = ''] = plans;
    assert.ok(plan.includes(index), `${JSON.stringify(question)}\n${plan}`);
    assert.doesNotMatch(plan, /Seq Scan/);
    if (question.filter === undefined) assert.doesNotMatch(plan, /Sort/);
  }
});
