import { AppError } from '../../src/base/errors.ts';
import type { Collection } from '../../src/collections/collection.ts';
import { type Asker, baseAlias, RecordScope } from '../../src/query/record-scope.ts';
import { listJson, runList } from '../../src/query/run-list.ts';
import { parseListQuery } from '../../src/query/list-query.ts';
import type { ListSource } from '../../src/query/list-source.ts';
import { RowJsonCache } from '../../src/query/row-cache.ts';
import { type JsonPage, prepareJsonList, runJsonList } from '../../src/query/run-json-list.ts';
import { recordJson, rowVersion } from '../../src/records/record-table.ts';
import { guest } from '../../src/access/caller.ts';
import { parseRule } from '../../src/access/rule.ts';
import type { RuleInput } from '../../src/access/rule-input.ts';
import { sql } from '../../src/sql/sql.ts';
import type { ParityEngine } from './engine-pair.ts';
import { relatedTableNames } from './related-tables.ts';
import {
  finderOf,
  type RelatedCaller,
  relatedCollections,
  type RelatedName,
  type RelatedQuestion,
  type RelatedRules,
} from './related-world.ts';

const now = Date.UTC(2026, 10, 20, 9, 35, 20, 114);

export interface RelatedList {
  readonly name: RelatedName;
  readonly rules: RelatedRules;
  readonly question: RelatedQuestion;
}

/** Returns the ids that a list has and its totals. Throws as a list does. */
export async function askForIds(
  { dialect, reader, engine }: ParityEngine,
  list: RelatedList,
): Promise<{ readonly ids: readonly string[]; readonly totals: string }> {
  const { source, query } = sourceOf({ dialect, engine }, list);
  const found = await runList(reader, query, source);
  return { ids: found.items.map(([id]) => String(id)), totals: `${found.totalItems} on ${found.totalPages}` };
}

/** Returns the list as the API answers it; behind a cursor, all pages to the end. Throws as a list does. */
export async function askForJson(
  { dialect, reader, engine }: ParityEngine,
  { question, ...list }: RelatedList,
): Promise<readonly string[]> {
  const pages: string[] = [];
  for (let { cursor } = question; ;) {
    const { source, query, collection } = sourceOf(
      { dialect, engine },
      { ...list, question: { ...question, ...(cursor !== undefined && { cursor }) } },
    );
    const json = recordJson(collection, relatedTableNames[engine], { withHidden: false });
    if (json === undefined) throw new Error('accounts are not written by the engine');
    const prepared = prepareJsonList(reader, query, {
      ...source,
      json: json.column,
      kind: json.rows,
      version: rowVersion,
    });
    const { items, ...page }: JsonPage = await runJsonList(prepared, new RowJsonCache({ lengthMax: 1 }));
    pages.push(listJson(page, items));
    if (page.nextCursor === undefined || page.nextCursor === null) return pages;
    cursor = page.nextCursor;
  }
}

/** The message, if the list was refused. A rule of a world may be one that could not be saved. */
export function refusalOf(error: unknown): string | undefined {
  const isRefusal =
    error instanceof AppError && (error.code === 'bad_request' || error.code === 'broken_rule');
  return isRefusal ? error.message : undefined;
}

/** As src/records/list-records.ts does it. Cursors can be read, so that what is in them is compared as well. */
function sourceOf(
  { dialect, engine }: Pick<ParityEngine, 'dialect' | 'engine'>,
  { name, rules, question }: RelatedList,
): {
  readonly collection: Collection;
  readonly source: ListSource;
  readonly query: ReturnType<typeof parseListQuery>;
} {
  const names = relatedTableNames[engine];
  const all = relatedCollections(rules);
  const collection = all.find((one) => one.name === name);
  if (collection === undefined) throw new Error('there are such records');
  const { caller, ...asked } = question;
  const scope = new RecordScope(
    { collections: finderOf(all), names, facts: factsOf(caller, all), now },
    { collection, alias: baseAlias },
    { joinsOutside: true },
  );
  const { listRule } = collection.rules;
  if (caller !== 'superuser' && typeof listRule === 'string' && listRule !== '')
    scope.addRule(parseRule(listRule));
  const asker: Asker = caller === 'superuser' ? 'rule' : 'client';
  const source: ListSource = {
    columns: sql`${baseAlias}.id`,
    from: sql`${names.collectionTable(name)} AS ${baseAlias}`,
    tieBreaker: { sql: sql`${baseAlias}."$position"`, kind: 'number', isNeverNull: true },
    resolve: scope.resolver(asker),
    scope: scope.forList(asker),
    dialect,
    cursors: { seal: (position) => position, open: (cursor) => cursor },
    now,
  };
  return { collection, source, query: parseListQuery(new URLSearchParams({ ...asked })) };
}

/** Who asks with superusers' rights is one of the people, too: the rules name `@request.auth`. */
function factsOf(caller: RelatedCaller, collections: readonly Collection[]): RuleInput {
  const people = collections.find(({ name }) => name === 'people');
  const id = caller === 'superuser' ? 'u1' : caller;
  return {
    caller: id === 'guest' || people === undefined ? guest : { kind: 'user', id, collectionId: people.id },
    context: 'default',
    method: 'GET',
    query: new URLSearchParams({ n: '5', title: 'a' }),
    headers: new URLSearchParams({ x_token: 'AB' }),
    body: { title: 'a', n: 5, tags: ['x', 'y'], author: 'u1', readers: ['u1', 'u2'] },
  };
}
