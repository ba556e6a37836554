import type { ChangingRule, CollectionName } from './collections.ts';

/** The members of a JSON object. */
export type Values = Readonly<Record<string, unknown>>;

/** One change of one record that a client wants. */
export interface Intent {
  readonly kind: 'create' | 'update' | 'upsert' | 'delete';
  readonly collection: CollectionName;
  readonly id: string;
  readonly body: Values;
  /** What `note` becomes, different for each; undefined of one that may change nothing. */
  readonly token?: string;
  /** The revision that is asked for with `If-Match`. */
  readonly expected?: number;
}

/** A filter, and what it means. */
export interface Filter {
  readonly text: string;
  readonly admits: (values: Values) => boolean;
}

export interface ListAsked {
  readonly collection: CollectionName;
  readonly query: string;
  readonly filter?: Filter;
  /** Whether all that the filter leaves is on this page. */
  readonly isWhole: boolean;
}

export type Operation =
  | { readonly kind: 'write'; readonly intents: readonly [Intent]; readonly key?: string }
  | { readonly kind: 'batch'; readonly intents: readonly Intent[]; readonly key?: string }
  | { readonly kind: 'truncate'; readonly collection: CollectionName }
  | {
      readonly kind: 'view';
      readonly collection: CollectionName;
      readonly id: string;
      /** An answer that the client has, for `If-None-Match`. */
      readonly known?: Shown;
      readonly expand?: string;
    }
  | ({ readonly kind: 'list' } & ListAsked)
  | { readonly kind: 'rule'; readonly rule: ChangingRule; readonly value: string | null }
  | { readonly kind: 'rename' };

/** A record as it was answered. */
export interface Shown {
  readonly etag: string;
  readonly values: Values;
}

export interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly isReplayed: boolean;
  /** Parsed, or undefined where there is no body. */
  readonly json: unknown;
}

/** An operation, when it was sent and answered, by the clock of this process and by the time of day, and the answer. */
export interface Exchange extends Answer {
  readonly operation: Operation;
  readonly isSuperuser: boolean;
  readonly node: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The pages that a client was led through by a cursor, to the end. */
export interface Walk {
  readonly collection: CollectionName;
  readonly pages: readonly Exchange[];
}

export interface History {
  readonly exchanges: Exchange[];
  readonly walks: Walk[];
}

/** A record as events have it: of its own fields, under the names that they had at first. */
export function toValues(shown: Values): Values {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(shown))
    if (!foreign.has(name)) values[name === 'caption' ? 'label' : name] = value;
  return values;
}

const foreign = new Set(['collectionId', 'collectionName', 'expand']);

/** Of an ETag that is answered with a record. */
export function revisionOf(etag: string): number {
  return Number(/^"(\d+)-/.exec(etag)?.[1]);
}

/** The records of a list. */
export function itemsOf({ json }: Pick<Answer, 'json'>): readonly Values[] {
  // What docs/lists.md describes.
  return (json as { readonly items?: readonly Values[] }).items ?? [];
}

export function isDone({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** Nodes are parts of this process: they and clients go by one clock, also those on PostgreSQL, whose own time only deliveries go by. */
export function isDuring({ startedAt, endedAt }: Exchange, { at }: { readonly at: number }): boolean {
  return at >= startedAt && at <= endedAt;
}
