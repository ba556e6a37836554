import { setTimeout as delay } from 'node:timers/promises';
import type { KeyOwner } from '../auth/key-rows.ts';
import { busy } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Timestamp } from '../base/timestamp.ts';
import { parameterError } from '../query/list-parameters.ts';
import type { QueryReader } from '../query/list-query.ts';
import { limit, sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';

const operatorFeedLimits = {
  perPageDefault: 100,
  perPageMax: 1_000,
  waitSecondsMax: 30,
  /** Requests that wait at once. */
  waitersMax: 100,
} as const;

/** How soon an event of any process is seen. */
const lookMs = 250;

/** What a cursor of the feed looks like; empty for the beginning. */
export const operatorCursor = /^\d{0,15}$/;

/** An event as the operator's programs see it. */
export interface OperatorEventView {
  readonly id: string;
  readonly kind: string;
  /** The id of the instance. */
  readonly instance: string;
  readonly created: Timestamp;
  readonly data: JsonObject;
}

export interface OperatorFeedPage {
  readonly items: readonly OperatorEventView[];
  readonly nextCursor: string;
}

export interface OperatorFeedQuery {
  /** Undefined for a feed from its beginning. */
  readonly position: number | undefined;
  /** The latest first. */
  readonly isReversed: boolean;
  readonly perPage: number;
  readonly waitMs: number;
}

/** Throws bad_request. */
export function parseOperatorFeedQuery(query: QueryReader): OperatorFeedQuery {
  const { perPageDefault, perPageMax, waitSecondsMax } = operatorFeedLimits;
  const cursor = query.get('cursor') ?? '';
  if (!operatorCursor.test(cursor)) throw parameterError('cursor', 'Expected a cursor of this feed.');
  const order = query.get('order') || 'asc';
  if (order !== 'asc' && order !== 'desc') throw parameterError('order', 'Expected asc or desc.');
  return {
    position: cursor === '' ? undefined : Number(cursor),
    isReversed: order === 'desc',
    perPage: integerOf(query, 'perPage', { least: 1, most: perPageMax }) ?? perPageDefault,
    waitMs: (integerOf(query, 'wait', { least: 0, most: waitSecondsMax }) ?? 0) * 1_000,
  };
}

function integerOf(
  query: QueryReader,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw parameterError(name, `Expected ${name} to be an integer from ${least} to ${most}.`);
  return value;
}

/** The requests of this process that wait for events of the operator. */
export class OperatorFeed {
  readonly #owner: KeyOwner;
  #waiting = 0;

  constructor(owner: KeyOwner) {
    this.#owner = owner;
  }

  /** Returns the events after a position: at once if there are any, or as soon as there are within the wait. Throws unavailable. */
  async read(query: OperatorFeedQuery, isOver: () => boolean): Promise<OperatorFeedPage> {
    const { clock } = this.#owner;
    const endsAtMs = clock.monotonic() + query.waitMs;
    for (;;) {
      const page = await this.#page(query);
      const leftMs = endsAtMs - clock.monotonic();
      if (page.items.length > 0 || query.isReversed || leftMs <= 0 || isOver()) return page;
      if (this.#waiting >= operatorFeedLimits.waitersMax) throw busy();
      this.#waiting += 1;
      await delay(Math.min(lookMs, leftMs), undefined, { ref: false });
      this.#waiting -= 1;
    }
  }

  /** Numbers are committed in their order (operator-events.ts): no event appears before one that was read. */
  async #page({ position, isReversed, perPage }: OperatorFeedQuery): Promise<OperatorFeedPage> {
    const { database } = this.#owner;
    const part = isReversed
      ? sql`WHERE position < ${position ?? Number.MAX_SAFE_INTEGER} ORDER BY position DESC`
      : sql`WHERE position > ${position ?? 0} ORDER BY position`;
    const rows = await database.tuples(sql`
      SELECT position, id, kind, instance, created, data FROM ${database.names.table('$operator_event')}
      ${part}${limit(perPage)}`);
    const items = rows.map(([, ...row]) => toEventView(row));
    return { items, nextCursor: String(rows.at(-1)?.[0] ?? position ?? 0) };
  }
}

/** Columns after the position: id, kind, instance, created, data. */
export function toEventView([id, kind, instance, created, data]: Tuple): OperatorEventView {
  return {
    id: String(id),
    kind: String(kind),
    instance: String(instance),
    created: String(created),
    // Written by appendOperatorEvent, from an object.
    data: JSON.parse(String(data)) as JsonObject,
  };
}
