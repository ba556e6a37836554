import { AppError } from '../../src/base/errors.ts';
import type { Collection } from '../../src/collections/collection.ts';
import { addedKeys, columnDefinition, hiddenColumns } from '../../src/collections/column-definition.ts';
import { RecordScope, baseAlias } from '../../src/collections/record-scope.ts';
import { parseListQuery } from '../../src/lists/list-query.ts';
import { runList } from '../../src/lists/run-list.ts';
import { guest } from '../../src/rules/caller.ts';
import { parseRule } from '../../src/rules/parse-rule.ts';
import type { RequestFacts } from '../../src/rules/request-facts.ts';
import { joinSql, sql } from '../../src/sql/sql.ts';
import type { Names } from '../../src/storage/database.ts';
import { postgresNames } from '../../src/storage/postgres/postgres-names.ts';
import { sqliteNames } from '../../src/storage/sqlite/sqlite-names.ts';
import type { Tally } from './compare-world.ts';
import type { EnginePair, ParityEngine } from './engine-pair.ts';
import {
  finderOf,
  relatedCollections,
  relatedNames,
  type RelatedQuestion,
  type RelatedWorld,
} from './related-world.ts';

export interface RelatedDifference {
  readonly question: RelatedQuestion;
  readonly sqlite: string;
  readonly postgres: string;
}

const now = Date.UTC(2026, 10, 20, 9, 35, 20, 114);

/** Nothing here takes long enough to be stopped. */
const namesOf: Readonly<Record<ParityEngine['engine'], Names>> = {
  sqlite: { ...sqliteNames, isInTime: () => undefined },
  postgres: postgresNames('related', 'related'),
};

/** Once, before the first world. */
export async function makeRelatedTables(engines: EnginePair): Promise<void> {
  await engines[1].reader.tuples(sql`CREATE SCHEMA related`);
  for (const { engine, reader } of engines) {
    const names = namesOf[engine];
    for (const { id, name, fields } of relatedCollections()) {
      const columns = fields
        .filter((field) => field.name !== 'id')
        .map((field) => columnDefinition(field, names));
      const all = joinSql([hiddenColumns(engine), ...columns], ', ');
      const table = names.collectionTable(name);
      await reader.tuples(sql`CREATE TABLE ${table} (${all})`);
      if (engine === 'postgres') await reader.tuples(sql`ALTER TABLE ${table} ${addedKeys(id, names)}`);
    }
  }
}

/** The first question that the engines answer differently. An error of an engine is an answer, and never the same as another. */
export async function compareRelatedWorld(
  engines: EnginePair,
  world: RelatedWorld,
  tally: Tally = { questions: 0, refused: 0, telling: 0 },
): Promise<RelatedDifference | undefined> {
  await Promise.all(engines.map((engine) => fillTables(engine, world)));
  const [sqlite, postgres] = engines;
  for (const question of world.questions) {
    const [ours, theirs] = await Promise.all([
      describeAnswer(sqlite, world, question),
      describeAnswer(postgres, world, question),
    ]);
    tally.questions += 1;
    if (ours.startsWith('refused')) tally.refused += 1;
    else if (/^\w\d/.test(ours)) tally.telling += 1;
    if (ours !== theirs || ours.startsWith('failed')) return { question, sqlite: ours, postgres: theirs };
  }
  return undefined;
}

async function fillTables({ engine, reader }: ParityEngine, { rows }: RelatedWorld): Promise<void> {
  const names = namesOf[engine];
  for (const { name, fields } of relatedCollections()) {
    const table = names.collectionTable(name);
    const columns = joinSql([sql`"$revision"`, ...fields.map((field) => names.column(field.name))], ', ');
    await reader.tuples(sql`DELETE FROM ${table}`);
    for (const row of rows[relatedNames.find((known) => known === name) ?? 'posts']) {
      const values = joinSql(
        [1, ...row].map((value) => sql`${value}`),
        ', ',
      );
      await reader.tuples(sql`INSERT INTO ${table} (${columns}) VALUES (${values})`);
    }
  }
}

async function describeAnswer(
  engine: ParityEngine,
  world: RelatedWorld,
  question: RelatedQuestion,
): Promise<string> {
  try {
    const { ids, totals } = await listPosts(engine, world, question);
    const isTelling = ids.length > 0 && ids.length < world.rows.posts.length;
    return `${isTelling ? '' : 'all or nothing: '}${ids.join(' ')} of ${totals}`;
  } catch (error) {
    // A rule of these worlds may be one that could not be saved.
    const isRefusal =
      error instanceof AppError && (error.code === 'bad_request' || error.code === 'broken_rule');
    if (isRefusal) return `refused: ${error.message}`;
    return `failed: ${String(error)}`;
  }
}

/** As src/records/list-records.ts does it. */
async function listPosts(
  { engine, dialect, reader }: ParityEngine,
  { rules }: RelatedWorld,
  { isGuest, ...question }: RelatedQuestion,
): Promise<{ readonly ids: readonly string[]; readonly totals: string }> {
  const names = namesOf[engine];
  const all = relatedCollections(rules);
  const collections = finderOf(all);
  const collection = all.find(({ name }) => name === 'posts');
  if (collection === undefined) throw new Error('there are posts');
  const facts = factsOf(isGuest, all);
  const scope = new RecordScope(
    { collections, names, facts, now },
    { collection, alias: baseAlias },
    { joinsOutside: true },
  );
  const { listRule } = collection.rules;
  if (isGuest && typeof listRule === 'string' && listRule !== '') scope.add(parseRule(listRule), 'rule');
  const asker = isGuest ? 'client' : 'rule';
  const list = await runList(reader, parseListQuery(new URLSearchParams({ ...question })), {
    columns: sql`${baseAlias}.id`,
    from: sql`${names.collectionTable('posts')} AS ${baseAlias}`,
    tieBreaker: { sql: sql`${baseAlias}."$position"`, kind: 'number', isNeverNull: true },
    resolve: scope.resolver(asker),
    scope: scope.forList(asker),
    dialect,
    now,
  });
  return { ids: list.items.map(([id]) => String(id)), totals: `${list.totalItems} on ${list.totalPages}` };
}

/** A guest with a body, or one of the people, who may ask as superusers do. */
function factsOf(isGuest: boolean, collections: readonly Collection[]): RequestFacts {
  const people = collections.find(({ name }) => name === 'people');
  return {
    caller: isGuest || people === undefined ? guest : { kind: 'user', id: 'u1', collectionId: people.id },
    context: 'default',
    method: 'GET',
    query: new URLSearchParams({ n: '5', title: 'a' }),
    headers: new URLSearchParams({ x_token: 'AB' }),
    body: { title: 'a', n: 5, tags: ['x', 'y'], author: 'u1', readers: ['u1', 'u2'] },
  };
}
