import { type FilterTree, parseFilter } from '../filters/parse.ts';
import { parseSort, type SortKey } from '../filters/compile/sort.ts';
import { booleanOf, listLimits, parameterError } from './list-parameters.ts';
import { parseFields, type Projection } from './projection.ts';

/**
 * The map of this folder: what every list has in common, whatever its table, and the names that records have in filters.
 *
 *   query ── parse ──► ListQuery ── plan (with a ListSource) ──► ListPlan ── bind, run ──► ListResult ── present ──► JSON
 *
 * list-query.ts     parses the parameters; projection.ts those of `fields`
 * list-source.ts    the table: its columns, the rows that the caller may see, its names (columnResolver for plain tables);
 *                   also cursors, which continue after a row instead of counting the rows before it
 * plan.ts           makes the statements; with slots (plan-slots.ts) they serve all lists of one form, whose values are bound
 * run-list.ts       runs them: rows, or rows that the engine writes as JSON and that row-cache.ts keeps
 * explain-list.ts   whether an index leads to the rows, for superusers on request
 * rule-plan.ts      a rule or a filter of records as a plan: compiled once for a kind of caller, bound for each request
 * record-scope.ts   the names of a collection's records, and the joins that they need; path.ts follows a path over relations,
 *                   request-names.ts has `@request.…` and `@collection.…`
 *
 * Source: http-api section 7, A16, A18, A20.
 */
export interface ListQuery extends Paging {
  readonly filter: FilterTree | undefined;
  readonly sort: readonly SortKey[];
  /** Undefined keeps everything. */
  readonly fields: Projection | undefined;
  /** Where its rows are to be counted. */
  readonly memory?: RowMemory | undefined;
  /** A shorter time than the query timeout. */
  readonly timeoutMs?: number | undefined;
}

/** Memory that is admitted before rows are read into it, by the length of their texts in characters. */
export interface RowMemory {
  /** Waits until this amount is admitted, in place of the one before. Throws unavailable. */
  admit(length: number): Promise<void>;
  /** Admits a further amount, for values that are made of the rows. Throws unavailable where it is not free at once. */
  extend(length: number): void;
}

/** The requested part of a list. */
export interface Paging {
  /** Counted from 1. */
  readonly page: number;
  readonly perPage: number;
  readonly skipTotal: boolean;
  /** The cursor to continue after; empty at the beginning, undefined where pages are numbered. */
  readonly cursor: string | undefined;
}

/** Reads query parameters, like URLSearchParams: `get` returns the first value of a key that is repeated. */
export interface QueryReader {
  get(name: string): string | null;
}

/**
 * Parses the parameters of a list. Empty values count as absent, unknown keys are ignored. Throws AppError `bad_request` with the
 * key in its details.
 */
export function parseListQuery(query: QueryReader): ListQuery {
  const paging = parsePaging(query);
  const filter = valueOf(query, 'filter');
  const sort = valueOf(query, 'sort');
  const fields = valueOf(query, 'fields');
  return {
    ...paging,
    filter: filter === undefined ? undefined : parseFilter(filter),
    sort: sort === undefined ? [] : parseSort(sort),
    fields: fields === undefined ? undefined : parseFields(fields),
  };
}

/** As {@link parseListQuery}, of the part alone. */
export function parsePaging(query: QueryReader): Paging {
  const cursor = query.get('cursor') ?? undefined;
  if (cursor !== undefined && valueOf(query, 'page') !== undefined)
    throw parameterError('cursor', 'Expected either a page or a cursor, not both.');
  const perPage = integerOf(query, 'perPage') ?? 0;
  return {
    page: Math.max(1, integerOf(query, 'page') ?? 1),
    perPage: perPage <= 0 ? listLimits.perPageDefault : Math.min(listLimits.perPageMax, perPage),
    skipTotal: isTrue(query, 'skipTotal'),
    cursor,
  };
}

function valueOf(query: QueryReader, name: string): string | undefined {
  const value = query.get(name);
  return value === null || value === '' ? undefined : value;
}

function integerOf(query: QueryReader, name: string): number | undefined {
  const text = valueOf(query, name);
  if (text === undefined) return undefined;
  const value = /^[+-]?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  // Beyond this, an offset could exceed an engine's integers.
  if (Number.isNaN(value) || Math.abs(value) > listLimits.pageMax) {
    throw parameterError(name, `Expected ${name} to be an integer of at most ${listLimits.pageMax}.`);
  }
  return value;
}

/** Returns a boolean parameter, false where it is absent. Throws AppError `bad_request`. */
export function isTrue(query: QueryReader, name: string): boolean {
  const text = valueOf(query, name);
  if (text === undefined) return false;
  const value = booleanOf(text);
  if (value === undefined) throw parameterError(name, `Expected ${name} to be true or false.`);
  return value;
}
