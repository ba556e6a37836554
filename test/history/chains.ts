import type { CollectionName } from './collections.ts';
import type { Values } from './exchange.ts';

/** An event as it is stored. */
export interface StoredEvent {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly collection: CollectionName;
  readonly record: string;
  readonly revision: number;
  /** The time of its transaction, in milliseconds since 1970. */
  readonly at: number;
  readonly values: Values;
}

/** What a record was at some time: before all events, or after one of them. */
export interface State {
  readonly index: number;
  /** 0 where there is no record. */
  readonly revision: number;
  /** Undefined where there is no record. */
  readonly values: Values | undefined;
  readonly event: StoredEvent | undefined;
  /** Of the write that made it, where that had one. */
  readonly token: string | undefined;
}

/** The states of each record in the order of its events, by `collection/id`. */
export type Chains = ReadonlyMap<string, readonly State[]>;

const absent: State = { index: 0, revision: 0, values: undefined, event: undefined, token: undefined };

export function toChains(events: readonly StoredEvent[], keys: readonly string[]): Chains {
  const chains = new Map<string, State[]>(keys.map((key) => [key, [absent]]));
  for (const event of events) {
    const key = keyOf(event);
    const chain = chains.get(key) ?? [absent];
    chains.set(key, chain);
    chain.push(after(event, chain.at(-1) ?? absent));
  }
  return chains;
}

export function keyOf({ collection, record }: Pick<StoredEvent, 'collection' | 'record'>): string {
  return `${collection}/${record}`;
}

function after(event: StoredEvent, before: State): State {
  const index = before.index + 1;
  if (event.kind === 'record.delete') return { ...absent, index, event };
  const { note } = event.values;
  const isNew = event.kind === 'record.create' || note !== before.values?.['note'];
  return {
    index,
    revision: event.revision,
    values: event.values,
    event,
    token: isNew ? String(note) : undefined,
  };
}

/** Whether all that is shown of a record is as in this state. */
export function isLike({ values }: State, shown: Values): boolean {
  if (values === undefined) return false;
  return Object.entries(shown).every(
    ([name, value]) => JSON.stringify(values[name]) === JSON.stringify(value),
  );
}
