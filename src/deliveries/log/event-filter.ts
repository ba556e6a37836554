import { ruleInputOfCaller } from '../../access/rule-input.ts';
import { AppError } from '../../base/errors.ts';
import type { Collections } from '../../collections/collection-store.ts';
import type { Collection } from '../../collections/collection.ts';
import { eventValues } from '../../events/event-values.ts';
import { type FilterTree, parseFilter } from '../../filters/parse.ts';
import { inlineColumns } from '../../query/inline-columns.ts';
import { baseAlias, RecordScope } from '../../query/record-scope.ts';
import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Names, Reader, Tuple } from '../../storage/database.ts';
import { isOneOf } from '../deliveries.ts';

/**
 * A filter over the records of events, as their bodies have them: in the grammar of lists, with the record's own fields alone.
 * It is evaluated for rows made of the bodies, with the current definition. Relations match nothing, as the related records may have changed,
 * and bodies have no hidden fields.
 */
export interface EventFilter {
  readonly tree: FilterTree;
  readonly collections: Collections;
  /** Milliseconds since 1970, for macros such as `@now`. */
  readonly now: number;
  /** Whether it was stored before, and is not new. */
  readonly isStored?: boolean;
}

/** The parts of an event that a filter reads. */
interface FilteredEvent {
  readonly position: number;
  /** The id of its collection. */
  readonly collection: string;
  readonly body: Uint8Array;
}

/** The bytes of bodies that are read and filtered together. */
const bytesTogetherMax = 1024 * 1024;

/** Values that one statement has: SQLite takes 32,766, and a short statement is planned sooner. */
const valuesMax = 2_000;

/**
 * Parses a filter and compiles it for each of these collections, or without names for at least one of all collections with
 * events. Throws bad_request with the problem.
 */
export function parseEventFilter(
  text: string,
  { names, ...context }: Omit<EventFilter, 'tree'> & { readonly names: Names },
  only: readonly string[],
): EventFilter {
  const filter = { ...context, tree: parseFilter(text) };
  const all = context.collections.all().filter(({ name }) => !name.startsWith('_'));
  const targets = only.length === 0 ? all : all.filter(({ id }) => only.includes(id));
  const compiled = targets.map((collection) => compile(filter, collection, names));
  const problem = compiled.find((one) => one instanceof AppError);
  const fits = compiled.some((one) => !(one instanceof AppError));
  if (problem !== undefined && (only.length > 0 || !fits)) throw problem;
  return filter;
}

/** Returns a filter that was parsed before; undefined for none. */
export function storedFilter(text: string, context: Omit<EventFilter, 'tree'>): EventFilter | undefined {
  return text === '' ? undefined : { ...context, tree: parseFilter(text), isStored: true };
}

/** Returns the condition on rows of a collection, or the problem of the filter there. */
function compile(
  { tree, now, isStored = false }: EventFilter,
  collection: Collection,
  names: Names,
): Sql | AppError {
  const nowhere = { find: () => undefined };
  const input = ruleInputOfCaller({ kind: 'superuser', id: '' });
  const scope = new RecordScope(
    { collections: nowhere, names, input, now, isStored },
    { collection, alias: baseAlias },
    { isOfBodies: true },
  );
  try {
    scope.addFilter(tree);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return scope.condition ?? sql`TRUE`;
}

/** Returns those of the events at these positions whose records meet the filter, in the given order. */
export async function filterEvents(
  reader: Reader,
  filter: EventFilter,
  positions: readonly number[],
): Promise<readonly number[]> {
  const { names } = reader;
  const among = (some: readonly number[]): Sql =>
    sql`FROM ${names.table('$event')} WHERE ${names.instance.condition} AND ${isOneOf(names, sql`position`, some)}`;
  // An expunged body matches nothing.
  const sizes = await reader.tuples(
    sql`SELECT position, length(body) ${among(positions)} AND expunged IS NULL ORDER BY position`,
  );
  const matches = new Set<number>();
  for (const together of byBytes(sizes)) {
    const rows = await reader.tuples(sql`SELECT position, collection, body ${among(together)}`);
    const events = rows.map(([position, collection, body]) => ({
      position: Number(position),
      collection: String(collection),
      // The column is a BLOB and never null.
      body: body as Uint8Array,
    }));
    for (const position of await matchingEvents(reader, filter, events)) matches.add(position);
  }
  return positions.filter((position) => matches.has(position));
}

/** Splits positions by the bytes of their bodies. */
function byBytes(sizes: readonly Tuple[]): readonly (readonly number[])[] {
  const parts: number[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const [position, size] of sizes) {
    bytes += Number(size);
    if (bytes > bytesTogetherMax) {
      parts.push([]);
      bytes = Number(size);
    }
    parts.at(-1)?.push(Number(position));
  }
  return parts;
}

/**
 * Returns the positions of those events whose records meet the filter. An event does not if its collection is gone, or has no such field any
 * more.
 */
async function matchingEvents(
  reader: Reader,
  filter: EventFilter,
  events: readonly FilteredEvent[],
): Promise<ReadonlySet<number>> {
  const matches = new Set<number>();
  for (const [id, its] of Map.groupBy(events, ({ collection }) => collection)) {
    const collection = filter.collections.all().find((one) => one.id === id);
    const condition = collection && compile(filter, collection, reader.names);
    if (collection === undefined || condition === undefined || condition instanceof AppError) continue;
    const together = Math.max(1, Math.floor(valuesMax / (collection.fields.length + 1)));
    for (let at = 0; at < its.length; at += together) {
      const rows = its.slice(at, at + together).map((event) => rowOf(collection, event, reader.names));
      const statement = sql`SELECT "$place" FROM (${joinSql(rows, ' UNION ALL ')}) AS ${baseAlias} WHERE ${condition}`;
      for (const [position] of await reader.search(statement)) matches.add(Number(position));
    }
  }
  return matches;
}

function rowOf(collection: Collection, { position, body }: FilteredEvent, names: Names): Sql {
  const { values } = eventValues(collection, { body });
  return sql`SELECT CAST(${position} AS bigint) AS "$place", ${inlineColumns(collection, values, names)}`;
}
