/**
 * Keeps the changes of each record in order. Webhooks can overtake each other, above all when one is retried; `X-Service-Sequence`
 * numbers the states of a record, so a state that comes after a later one is known and dropped. With `holdMs` a state also waits a
 * while for those before it, so that fewer are dropped.
 *
 * This is for one process. Endpoints with the order `record` are sent the changes of each record in order by Chancery itself; where
 * several processes receive, store the position (`follow`) beside the record and compare (`isLater`) in the transaction of the work.
 */

import { isAboutRecord } from './webhook-event.ts';

/** What the order needs to know of a webhook; what `verify` returns has it. */
export interface OrderedWebhook {
  readonly sequence: number | undefined;
  readonly isTest?: boolean;
  readonly transition?: 'enter' | 'leave' | undefined;
  readonly event: {
    readonly event: string;
    readonly timestamp: string;
    readonly instance_id: string;
    readonly collection: string;
    readonly data: object;
  };
}

/** Which state of a record was handled last. It can be stored as JSON. */
export interface RecordPosition {
  readonly sequence: number;
  /** When that state was written. */
  readonly timestamp: string;
  /** `left`: it exists, but the endpoint is sent no more of it. */
  readonly kind: 'created' | 'changed' | 'left' | 'deleted';
  /** What was written before is of another record: the id of a deleted one may be used again, and its states count from 1 again. */
  readonly since?: string;
}

export interface RecordOrderOptions {
  /** How many records are remembered; those that changed longest ago are forgotten first. 10,000 by default. */
  readonly recordsMax?: number;
  /**
   * Milliseconds that a state waits for those before it; 0, the default, for none. Stay well below the endpoint's `timeoutMs`. Of no
   * use with an endpoint that is not sent every change of a record (`events`, `coalesce`): what it waits for never comes.
   */
  readonly holdMs?: number;
}

/** What became of a webhook: its work was done, or a later state of the record was handled before it. */
export type RecordOutcome = 'handled' | 'older';

interface Lane {
  /** Resolves when the work for this record that has begun or waits its turn has ended. */
  tail: Promise<unknown>;
  /** Webhooks of this record that are not answered yet. */
  openCount: number;
  /** Looks again whether those that wait may go on. */
  readonly wake: Set<() => void>;
}

const recordsMaxDefault = 10_000;

export class RecordOrder {
  readonly #recordsMax: number;
  readonly #holdMs: number;
  /** The one that changed longest ago first. */
  readonly #positions = new Map<string, RecordPosition>();
  readonly #lanes = new Map<string, Lane>();

  constructor({ recordsMax = recordsMaxDefault, holdMs = 0 }: RecordOrderOptions = {}) {
    if (!Number.isSafeInteger(recordsMax) || recordsMax < 1) {
      throw new RangeError('recordsMax must be a positive integer');
    }
    if (!(holdMs >= 0)) throw new RangeError('holdMs must not be negative');
    this.#recordsMax = recordsMax;
    this.#holdMs = holdMs;
  }

  /**
   * Does the work for one webhook, one at a time for each record, unless a later state of the record was handled. When the work
   * throws, its state does not count as handled. A webhook about no record is handled at once.
   */
  async handle(webhook: OrderedWebhook, work: () => unknown): Promise<RecordOutcome> {
    const position = positionOf(webhook);
    if (position === undefined) {
      await work();
      return 'handled';
    }
    const key = keyOf(webhook);
    const lane = this.#open(key);
    try {
      if (this.#holdMs > 0) await this.#waitForEarlier(key, lane, position);
      const turn = lane.tail.then(() => this.#handleNow(key, position, work));
      // The next one's turn comes however this one ends; its own caller hears of a failure.
      lane.tail = turn.catch(() => undefined);
      return await turn;
    } finally {
      lane.openCount -= 1;
      for (const look of lane.wake) look();
      if (lane.openCount === 0) this.#lanes.delete(key);
    }
  }

  #open(key: string): Lane {
    const lane = this.#lanes.get(key) ?? { tail: Promise.resolve(), openCount: 0, wake: new Set() };
    lane.openCount += 1;
    this.#lanes.set(key, lane);
    return lane;
  }

  async #handleNow(key: string, position: RecordPosition, work: () => unknown): Promise<RecordOutcome> {
    const last = this.#positions.get(key);
    if (!isLater(position, last)) return 'older';
    await work();
    // Deleted first, so that the record moves to the end of the order of insertion.
    this.#positions.delete(key);
    this.#positions.set(key, follow(position, last));
    if (this.#positions.size > this.#recordsMax) {
      for (const oldest of this.#positions.keys()) {
        this.#positions.delete(oldest);
        break;
      }
    }
    return 'handled';
  }

  async #waitForEarlier(key: string, lane: Lane, position: RecordPosition): Promise<void> {
    const mayGoOn = (): boolean => isNext(position, this.#positions.get(key));
    if (mayGoOn()) return;
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        clearTimeout(timer);
        lane.wake.delete(look);
        resolve();
      };
      const look = (): void => {
        if (mayGoOn()) goOn();
      };
      const timer = setTimeout(goOn, this.#holdMs);
      lane.wake.add(look);
    });
  }
}

/** Returns which state of a record a webhook tells of; undefined when it is about no record, nothing numbers its states, or it is a test. */
export function positionOf({
  sequence,
  isTest,
  transition,
  event,
}: OrderedWebhook): RecordPosition | undefined {
  if (!isAboutRecord(event) || isTest === true || sequence === undefined || sequence === 0) return undefined;
  const { timestamp } = event;
  if (event.event === 'record.delete')
    return { sequence, timestamp, kind: transition === 'leave' ? 'left' : 'deleted' };
  const isCreation = event.event === 'record.create' && sequence === 1 && transition === undefined;
  return { sequence, timestamp, kind: isCreation ? 'created' : 'changed' };
}

/** True if a state is later than the last one that was handled, also where the record was deleted and its id used again. */
export function isLater(position: RecordPosition, last: RecordPosition | undefined): boolean {
  // Text order is time order.
  if (last === undefined) return true;
  if (last.since !== undefined && position.timestamp < last.since) return false;
  // Another creation than that of the record which was seen is another record under the same id.
  if (position.kind === 'created' && position.timestamp === last.timestamp) return last.kind === 'deleted';
  // No state follows a deletion, so what was written after it is of another record, too.
  if (position.kind === 'created' || last.kind === 'deleted') return position.timestamp > last.timestamp;
  if (position.sequence > last.sequence) return true;
  // A state that is sent again, by a backfill or a transition, is the same or a later one; and what has left may be another record since.
  const maySayMore = position.sequence === last.sequence || last.kind === 'left';
  return maySayMore && position.timestamp > last.timestamp;
}

/** Returns what to remember once a later state was handled. */
export function follow(position: RecordPosition, last: RecordPosition | undefined): RecordPosition {
  if (position.kind === 'created') return { ...position, since: position.timestamp };
  const since = last?.kind === 'deleted' ? last.timestamp : last?.since;
  return since === undefined ? position : { ...position, since };
}

/** True if a state follows directly on the last one, or will be dropped anyhow: it has nothing to wait for. */
function isNext(position: RecordPosition, last: RecordPosition | undefined): boolean {
  if (position.sequence === 1 || !isLater(position, last)) return true;
  return last !== undefined && last.kind !== 'deleted' && last.sequence === position.sequence - 1;
}

function keyOf({ event }: OrderedWebhook): string {
  const { data } = event;
  return JSON.stringify([event.instance_id, event.collection, 'id' in data && data.id]);
}
