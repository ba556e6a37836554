import { type Caller, reaches } from '../../access/caller.ts';
import { AppError, type FieldError, type FieldErrors } from '../../base/errors.ts';
import type { Collection } from '../../collections/collection.ts';
import { recordEventKinds } from '../../events/event.ts';
import { fieldError, invalidValue, unknownMembers } from '../../fields/field-error.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import { inlineColumns } from '../../query/inline-columns.ts';
import { baseAlias } from '../../query/record-scope.ts';
import { joinSql, limit, sql, type Sql } from '../../sql/sql.ts';
import type { Names, Reader } from '../../storage/database.ts';
import { beforeAlias, type ConditionContext, filterCondition } from '../../endpoints/endpoint-conditions.ts';
import type { EndpointSettings } from '../../endpoints/endpoint-options.ts';
import { filterWarnings } from '../../endpoints/filter-warnings.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { type LoggedChange, readChanges } from './logged-changes.ts';

/** Which of the last changes of a collection an endpoint's filter matches. */
export interface FilterTest {
  readonly items: readonly TestedEvent[];
  readonly met: number;
  /** Probable mistakes in the filter, in words. */
  readonly warnings: readonly string[];
}

export interface FilterTestRequest {
  readonly caller: Caller;
  readonly body: Readonly<Record<string, unknown>>;
}

interface TestedEvent {
  readonly id: string;
  readonly kind: string;
  readonly record: string;
  readonly revision: number;
  readonly created: string;
  /** Null where the filter compares the previous state, and the log no longer has it. */
  readonly isMet: boolean | null;
}

const eventsMax = 100;
/** Rows of the log that are read for them, and bytes of bodies. */
const walkMax = 50_000;
const bytesMax = 4 * 1024 * 1024;
/** Values that one statement has. */
const valuesMax = 10_000;

/**
 * Evaluates an endpoint's filter for the last changes of a collection, the newest first: with records as they were at
 * their time, and related ones as they are now. The caller decides which fields the filter may name. Throws bad_request.
 */
export async function testFilter(
  instance: WebhookInstance,
  { caller, body }: FilterTestRequest,
): Promise<FilterTest> {
  const { database, collections, clock } = instance;
  const { collection, filter } = decode(instance, { caller, body });
  const context = { collections, names: database.names, now: clock.now(), author: caller };
  const tested = { filter, owner: '', collections: [collection.id] };
  const condition = filterCondition(tested, collection, context);
  if (condition instanceof AppError) throw condition;
  const events = await readLast(database, collection, recordEventKinds);
  const asksBefore = comparesBefore(filter);
  const askable = askableOf(filter, events);
  const met = await findMet(database, askable, { collection, condition });
  const items = events.map(({ position, id, kind, record, revision, created, before }) => ({
    id,
    kind,
    record,
    revision,
    created,
    isMet: asksBefore && before === undefined ? null : met.has(position),
  }));
  return { items, met: met.size, warnings: filterWarnings(tested, context) };
}

function decode(
  { collections }: Pick<WebhookInstance, 'collections'>,
  { caller, body }: FilterTestRequest,
): { readonly collection: Collection; readonly filter: string } {
  const { filter, collection: name } = body;
  const details: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, ['filter', 'collection']),
  };
  if (filter === undefined || filter === '') details['filter'] = fieldError('validation_required');
  else if (typeof filter !== 'string') details['filter'] = invalidValue('Must be text.');
  const named = typeof name === 'string' ? collections.find(name) : undefined;
  const collection = named !== undefined && reaches(caller, named) ? named : undefined;
  if (name === undefined || name === '') details['collection'] = fieldError('validation_required');
  else if (collection === undefined) details['collection'] = invalidValue('There is no such collection.');
  if (collection === undefined || typeof filter !== 'string' || Object.keys(details).length > 0)
    throw new AppError('bad_request', 'Failed to test the filter.', { details });
  return { collection, filter };
}

function comparesBefore(filter: string): boolean {
  return /@old\.|:changed\b/.test(filter);
}

function askableOf(filter: string, events: readonly LoggedChange[]): readonly LoggedChange[] {
  return comparesBefore(filter) ? events.filter(({ before }) => before !== undefined) : events;
}

/** Returns which part of the last changes of a collection meets the filter of an endpoint: all where none of them can tell. */
export async function readMetShare(
  reader: Reader,
  endpoint: Pick<EndpointSettings, 'filter' | 'owner' | 'collections' | 'events'>,
  { collection, context }: { readonly collection: Collection; readonly context: ConditionContext },
): Promise<number> {
  const condition = filterCondition(endpoint, collection, context);
  // The filter of an endpoint for all collections need not fit each of them.
  if (condition instanceof AppError) return 0;
  const last = await readLast(reader, collection, endpoint.events);
  const events = askableOf(endpoint.filter, last);
  if (events.length === 0) return 1;
  return (await findMet(reader, events, { collection, condition })).size / events.length;
}

async function readLast(
  reader: Reader,
  collection: Collection,
  kinds: readonly string[],
): Promise<readonly LoggedChange[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    WITH walked AS MATERIALIZED (
      SELECT position, kind, collection, length(body) AS bytes, expunged FROM ${names.table('$event')}
      WHERE ${names.instance.condition} ORDER BY position DESC${limit(walkMax)})
    SELECT position, bytes FROM walked WHERE collection = ${collection.id} AND kind${names.anyOf(kinds)} AND expunged IS NULL
    ORDER BY position DESC${limit(eventsMax)}`);
  let bytes = 0;
  const positions = rows
    .filter(([, size], index) => (bytes += Number(size)) <= bytesMax || index === 0)
    .map(([position]) => Number(position));
  return readChanges(reader, collection, positions);
}

/** Returns the positions of those events whose changes meet the condition. */
async function findMet(
  reader: Reader,
  events: readonly LoggedChange[],
  { collection, condition }: { readonly collection: Collection; readonly condition: Sql },
): Promise<ReadonlySet<number>> {
  const { names } = reader;
  const met = new Set<number>();
  const together = Math.max(1, Math.floor(valuesMax / (2 * collection.fields.length + 2)));
  for (let at = 0; at < events.length; at += together) {
    const some = events.slice(at, at + together);
    const rowsOf = (state: (event: LoggedChange) => readonly StoredValue[]): Sql =>
      joinSql(
        some.map((event) => rowOf(collection, { place: event.position, values: state(event) }, names)),
        ' UNION ALL ',
      );
    const rows = await reader.search(sql`
      SELECT ${baseAlias}."$place" FROM (${rowsOf(({ after }) => after)}) AS ${baseAlias}
      JOIN (${rowsOf(({ after, before = after }) => before)}) AS ${beforeAlias} ON ${beforeAlias}."$place" = ${baseAlias}."$place"
      WHERE ${condition}`);
    for (const [position] of rows) met.add(Number(position));
  }
  return met;
}

function rowOf(
  collection: Collection,
  { place, values }: { readonly place: number; readonly values: readonly StoredValue[] },
  names: Names,
): Sql {
  return sql`SELECT CAST(${place} AS bigint) AS "$place", ${inlineColumns(collection, values, names)}`;
}
