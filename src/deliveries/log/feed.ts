import { AppError } from '../../base/errors.ts';
import { type Timestamp, toTimestamp } from '../../base/timestamp.ts';
import { recordEventKinds, type RecordEventKind } from '../../events/event.ts';
import { findTime } from '../../events/find-event.ts';
import { isAhead, type SafeEnd } from '../../events/log-horizon.ts';
import { findLostEvents, lostText } from '../../events/lost-events.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { booleanOf, parameterError } from '../../query/list-parameters.ts';
import type { QueryReader } from '../../query/list-query.ts';
import { timeParameter } from '../../query/time-parameter.ts';
import { openPosition, sealPosition } from '../../secrets/seal-position.ts';
import { limit, sql, type Sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import { type FedEvent, fedEvents } from './feed-transitions.ts';
import { readItems, type Sign, signerOf } from './feed-items.ts';
import { consumerPosition } from './consumers.ts';
import { type EventFilter, filterEvents, parseEventFilter } from './event-filter.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/**
 * The feed: the events that endpoints receive, for receivers that poll. The order is that of the log, no event is missing and
 * none comes twice, as long as a reader passes the cursor of the previous response. Where writers commit at the same time, it ends at
 * the safe position, so that no event appears behind a cursor.
 */
export interface FeedQuery {
  readonly cursor: string | undefined;
  readonly since: number | undefined;
  readonly consumer: string | undefined;
  readonly waitMs: number;
  readonly perPage: number;
  readonly kinds: readonly RecordEventKind[];
  /** Names or ids of collections; empty for all. */
  readonly collections: readonly string[];
  /** Over the records as their events have them; empty for all. */
  readonly filter: string;
  /** Whether it says when records come to meet the filter, or meet it no more. */
  readonly transitions: boolean;
  /** The id of the endpoint whose headers are added. */
  readonly signed: string | undefined;
}

/** The context of a read besides the instance. */
export interface FeedContext {
  /** The end of the events that may be returned. */
  readonly safeEnd: SafeEnd;
  /** Whether the client has disconnected. */
  readonly isOver: () => boolean;
  readonly version: string;
}

const feedLimits = {
  perPageDefault: 100,
  perPageMax: 1_000,
  waitSecondsMax: 30,
  /** The bodies of one response: it always has at least one event. */
  bytesMax: 8 * 1024 * 1024,
  /** Events that one response reads; beyond it the response may be short, and its cursor advances. */
  walkMax: 16_384,
  /** Requests that wait at once, of one instance. */
  waitersMax: 100,
} as const;

/** A wait ends when this process has written something; writes of other nodes are found after this time. */
const lookMs = 250;
/** How long it then waits at most for the log to become safe. */
const safeMs = 60;

const waiters = new WeakMap<object, number>();

/** Reads the parameters of a request. Throws bad_request. */
export function parseFeedQuery(query: QueryReader): FeedQuery {
  const text = (name: string): string | undefined => query.get(name) || undefined;
  const since = timeParameter(query, 'since');
  const transitions = booleanOf(query.get('transitions') || 'false');
  if (transitions === undefined) throw parameterError('transitions', 'Expected true or false.');
  if (transitions) checkTransitions(text);
  const starts = ['cursor', 'since', 'consumer'].filter((name) => text(name) !== undefined);
  if (starts[1] !== undefined)
    throw parameterError(starts[1], `Only one of cursor, since and consumer says where to begin.`);
  return {
    cursor: text('cursor'),
    since,
    consumer: text('consumer'),
    waitMs: integerOf(query, 'wait', { initial: 0, max: feedLimits.waitSecondsMax }) * 1_000,
    perPage: integerOf(query, 'perPage', { initial: feedLimits.perPageDefault, max: feedLimits.perPageMax }),
    kinds: kindsOf(text('events')),
    collections: text('collections')?.split(',') ?? [],
    filter: query.get('filter') ?? '',
    transitions,
    signed: text('signed'),
  };
}

/** Transitions follow from the filter and all three events, and are no requests of an endpoint. */
function checkTransitions(text: (name: string) => string | undefined): void {
  if (text('filter') === undefined) throw parameterError('filter', 'Transitions need a filter.');
  for (const name of ['events', 'signed'])
    if (text(name) !== undefined) throw parameterError(name, `Not together with transitions.`);
}

function integerOf(
  query: QueryReader,
  name: string,
  { initial, max }: { readonly initial: number; readonly max: number },
): number {
  const text = query.get(name) || String(initial);
  const number = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (number >= 0 && number <= max) return name === 'perPage' ? Math.max(1, number) : number;
  throw parameterError(name, `Expected an integer from 0 to ${max}.`);
}

function kindsOf(text: string | undefined): readonly RecordEventKind[] {
  if (text === undefined) return recordEventKinds;
  const names = text.split(',');
  const kinds = recordEventKinds.filter((kind) => names.includes(kind));
  if (kinds.length === names.length) return kinds;
  throw parameterError('events', `Expected some of ${recordEventKinds.join(', ')}.`);
}

/** Returns the JSON of an answer: the events behind the cursor, at once if there are any, or as soon as there are within the wait. */
export async function readFeed(
  instance: WebhookInstance,
  query: FeedQuery,
  context: FeedContext,
): Promise<string> {
  if (instance.settings.current.webhooks.events !== 'always')
    throw new AppError(
      'bad_request',
      'The feed is available only while the setting webhooks.events is `always`.',
    );
  const endsAtMs = instance.clock.monotonic() + query.waitMs;
  let position = await beginOf(instance, query);
  const sign = await signerOf(instance, query.signed, context.version);
  const filter = filterOf(instance, query);
  for (;;) {
    const { items, end } = await readPage(
      instance,
      { ...query, position, safe: context.safeEnd.safePosition },
      { sign, filter },
    );
    // More may follow the events that were read, none of which matched.
    const delayMs = end > position ? 0 : lookMs;
    position = end;
    const leftMs = endsAtMs - instance.clock.monotonic();
    if (items.length > 0 || leftMs <= 0 || context.isOver())
      return `{"items":[${items.join(',')}],"nextCursor":${JSON.stringify(sealPosition(instance.sealer, end))}}`;
    await waitFor(instance, context.safeEnd, Math.min(leftMs, delayMs));
  }
}

async function waitFor(
  { database, events }: WebhookInstance,
  safeEnd: SafeEnd,
  delayMs: number,
): Promise<void> {
  const count = waiters.get(database) ?? 0;
  if (count >= feedLimits.waitersMax) {
    const message = `At most ${feedLimits.waitersMax} requests can wait for the feed.`;
    throw new AppError('too_many_requests', message, { retryAfter: 1 });
  }
  waiters.set(database, count + 1);
  try {
    await events.next(delayMs);
    // The event that ended the wait is returned once no other can appear before it.
    if (database.names.isConcurrent) await safeEnd.nextSafe(Math.min(delayMs, safeMs));
  } finally {
    waiters.set(database, (waiters.get(database) ?? 1) - 1);
  }
}

/** Returns the position behind which the feed begins: by default the start of the log. Throws bad_request and not_found. */
async function beginOf(instance: WebhookInstance, { cursor, since, consumer }: FeedQuery): Promise<number> {
  if (since !== undefined) return placeAt(instance.database, since);
  const trimmed = await readTrimmed(instance.database);
  if (consumer === undefined && cursor === undefined) return trimmed.position;
  const position =
    cursor === undefined
      ? await consumerPosition(instance.database, consumer ?? '')
      : await feedPosition(instance, cursor);
  const lost = await findLostEvents(instance.database, position);
  if (position >= trimmed.position && lost === undefined) return position;
  const reason = lost === undefined ? notKept(trimmed.time) : lostText(lost);
  throw parameterError(consumer === undefined ? 'cursor' : 'consumer', reason);
}

/** Returns the place of the log at a time, in milliseconds since 1970. Throws bad_request when it was trimmed. */
export async function placeAt(reader: Reader, since: number): Promise<number> {
  const { time, position } = await readTrimmed(reader);
  const date = toTimestamp(since);
  if (date <= time) throw parameterError('since', notKept(time));
  // In a log without events a time is found before its beginning.
  return Math.max(position, await findTime(reader, date));
}

/** Returns why events cannot be returned. */
export function notKept(time: Timestamp): string {
  return `Events up to ${time} are not kept any more.`;
}

/** Returns the position of a cursor. Throws bad_request for one of another instance, or of events that a restore has lost. */
export async function feedPosition(
  { sealer, database }: Pick<WebhookInstance, 'sealer' | 'database'>,
  cursor: string,
): Promise<number> {
  const position = openPosition(sealer, cursor);
  if (position === undefined)
    throw parameterError('cursor', 'Expected a cursor of the feed of this instance.');
  const lost = await findLostEvents(database, position);
  if (lost !== undefined) throw parameterError('cursor', lostText(lost));
  if (await isAhead(database, position))
    throw parameterError('cursor', 'The cursor is ahead of the log, which was restored to an earlier time.');
  return position;
}

/** Parses the filter of a request. Throws bad_request. */
function filterOf(
  { collections, database, clock }: WebhookInstance,
  query: FeedQuery,
): EventFilter | undefined {
  if (query.filter === '') return undefined;
  const ids = query.collections.map((name) => collections.find(name)?.id ?? name);
  const context = { collections, now: clock.now(), names: database.names };
  return parseEventFilter(query.filter, context, ids);
}

interface PageQuery extends FeedQuery {
  readonly position: number;
  readonly safe: number;
}

async function readPage(
  { database, collections: all, shownId }: WebhookInstance,
  query: PageQuery,
  { sign, filter }: { readonly sign: Sign | undefined; readonly filter: EventFilter | undefined },
): Promise<{ readonly items: readonly string[]; readonly end: number }> {
  const { names } = database;
  const { position, safe, kinds, collections, perPage } = query;
  const ids = collections.map((name) => all.find(name)?.id ?? name);
  const ofCollections = ids.length === 0 ? sql`` : sql` AND collection${names.anyOf(ids)}`;
  const upTo = names.isConcurrent ? sql` AND position <= ${safe}` : sql``;
  const table = names.table('$event');
  const rows = await database.tuples(sql`
    WITH walked AS MATERIALIZED (
      SELECT position, kind, collection, length(body) AS bytes FROM ${table}
      WHERE ${names.instance.condition} AND position > ${position}${upTo} ORDER BY position${limit(feedLimits.walkMax)})
    SELECT position, bytes, (SELECT max(position) FROM walked) FROM walked
    WHERE kind${names.anyOf(kinds)}${ofCollections} ORDER BY position LIMIT CAST(${perPage} AS bigint)`);
  const positions = upToBytes(rows.map(([at, bytes]) => ({ at: Number(at), bytes: Number(bytes) })));
  if (positions.length === 0) return { items: [], end: await endOf(database, query, upTo) };
  const isWhole = positions.length === rows.length && rows.length < perPage;
  const end = isWhole ? Number(rows[0]?.[2]) : (positions.at(-1) ?? position);
  const fed = await choose(database, positions, { filter, transitions: query.transitions });
  return {
    items: fed.length === 0 ? [] : await readItems(database, fed, { sign, instanceId: shownId }),
    end,
  };
}

interface Choice {
  readonly filter: EventFilter | undefined;
  readonly transitions: boolean;
}

async function choose(
  reader: Reader,
  positions: readonly number[],
  { filter, transitions }: Choice,
): Promise<readonly FedEvent[]> {
  if (filter !== undefined && transitions) return fedEvents(reader, filter, positions);
  const matches = filter === undefined ? positions : await filterEvents(reader, filter, positions);
  return matches.map((position) => ({ position, beforeBytes: 0 }));
}

/** Returns the end of a walk without matches. */
async function endOf(reader: Reader, { position }: PageQuery, upTo: Sql): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT max(position) FROM (SELECT position FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND position > ${position}${upTo} ORDER BY position${limit(feedLimits.walkMax)}) AS walked`);
  return typeof row?.[0] === 'number' ? row[0] : position;
}

/** Returns the first of these positions whose bodies fit into an answer, at least one. */
function upToBytes(rows: readonly { readonly at: number; readonly bytes: number }[]): readonly number[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => (bytes += row.bytes) > feedLimits.bytesMax && index > 0);
  return (end === -1 ? rows : rows.slice(0, end)).map(({ at }) => at);
}
