import { setTimeout as delay } from 'node:timers/promises';
import { printable } from '../../base/printable.ts';
import type { JsonObject } from '../../base/json.ts';
import { type Api, ApiRefusal, itemsOf, Unreachable } from './api.ts';
import { type CommandIo, note } from '../terminal/print.ts';

/** A list whose newest items are shown as they come. */
export interface FollowedList {
  readonly path: string;
  readonly filter: string | undefined;
  /** How many items that are already there are shown first. */
  readonly limit: number;
  /** What an item looks like: one is shown again when this has changed. */
  readonly stateOf: (item: JsonObject) => string;
  /** Shows items, the oldest first; resolves to false once nobody reads it any more. */
  readonly show: (items: readonly JsonObject[]) => Promise<boolean>;
}

const pollMs = 1_000;
/** Every look is at the newest of this many items, and at the pages behind them while all of one is new. */
const pageSize = 200;
const pagesMax = 20;
const statesMax = pageSize * pagesMax * 2;

/** Shows what is new in a list until Ctrl-C. A service that is away for a while, as at its restart, is waited for. */
export async function follow(
  api: Api,
  io: CommandIo,
  { list, interrupt }: { readonly list: FollowedList; readonly interrupt: AbortSignal },
): Promise<void> {
  const states = new Map<string, string>();
  const first = await readNew(api, list, { states, isFirst: true, interrupt });
  let isRead = first === undefined || (await list.show(list.limit === 0 ? [] : first.slice(-list.limit)));
  let isAway = false;
  while (isRead && (await wait(interrupt))) {
    try {
      const items = await readNew(api, list, { states, isFirst: false, interrupt });
      isAway = false;
      if (items !== undefined && items.length > 0) isRead = await list.show(items);
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!isAway) note(io, `chancery: ${printable(error.message)} Retrying until it answers.\n`);
      isAway = true;
    }
  }
}

async function wait(interrupt: AbortSignal): Promise<boolean> {
  await delay(pollMs, undefined, { signal: interrupt }).catch(() => undefined);
  return !interrupt.aborted;
}

function isPassing(error: unknown): error is Error {
  return (
    error instanceof Unreachable ||
    (error instanceof ApiRefusal && [429, 502, 503, 504].includes(error.status))
  );
}

interface Look {
  /** States by the ids of items, of which the oldest are forgotten. */
  readonly states: Map<string, string>;
  readonly isFirst: boolean;
  readonly interrupt: AbortSignal;
}

/** Returns the items that were not seen as they are now, the oldest first; undefined when it was interrupted. */
async function readNew(
  api: Api,
  { path, filter, stateOf }: FollowedList,
  { states, isFirst, interrupt }: Look,
): Promise<readonly JsonObject[] | undefined> {
  const fresh = new Map<string, JsonObject>();
  for (let page = 1; page <= pagesMax; page += 1) {
    const query = { filter, sort: '-created', perPage: pageSize, page, skipTotal: 'true' };
    const items = await api
      .request('GET', path, { query, signal: interrupt })
      .then(itemsOf)
      .catch((error: unknown) => {
        if (!interrupt.aborted) throw error;
        return undefined;
      });
    if (items === undefined) return undefined;
    const newItems = items.filter((item) => states.get(String(item['id'])) !== stateOf(item));
    // What comes meanwhile moves others to the next page: those are there twice.
    for (const item of newItems) fresh.set(String(item['id']), fresh.get(String(item['id'])) ?? item);
    if (isFirst || newItems.length < pageSize) break;
  }
  for (const [id, item] of fresh) remember(states, id, stateOf(item));
  // The service answers the newest first, also of one millisecond, which the sort leaves in their order.
  return [...fresh.values()].toReversed().toSorted((one, other) => compare(timeOf(one), timeOf(other)));
}

function remember(states: Map<string, string>, id: string, state: string): void {
  states.delete(id);
  states.set(id, state);
  if (states.size <= statesMax) return;
  const [oldest] = states.keys();
  if (oldest !== undefined) states.delete(oldest);
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function timeOf({ updated, created }: JsonObject): string {
  return String(updated ?? created);
}
