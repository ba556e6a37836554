import type { Caller } from '../access/caller.ts';
import type { Collection } from '../collections/collection.ts';
import type { NewEvent, RecordChange } from '../events/event.ts';
import type { Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';

/** The records of collections, for backfills and past events of accounts. A later room implements it. */
export interface BackfillRecords {
  find(nameOrId: string): Promise<Collection | undefined>;
  /** The position of the last record of a collection, or 0. */
  lastPosition(tx: Transaction, collection: string): Promise<number>;
  /** Finds records in the next part of a range. Throws not_found (the collection), bad_request (the filter). */
  next(what: RecordChoice, range: RecordRange, foundMax: number): Promise<NextRecords>;
  /** As `next`, but counts them. */
  count(what: RecordChoice, range: RecordRange): Promise<RangePart & { readonly count: number }>;
  /** Locks the records at these positions, and returns those that exist and meet the filter. Throws as `next`. */
  lock(tx: Transaction, what: RecordChoice, positions: readonly number[]): Promise<readonly LockedRecord[]>;
  /** Locks those of these records that exist, by their ids. Throws not_found (the collection). */
  lockByIds(tx: Transaction, collection: string, ids: readonly string[]): Promise<readonly LockedRecord[]>;
  /** Returns the event content of locked records. */
  read(
    tx: Transaction,
    what: RecordChoice,
    positions: readonly number[],
  ): Promise<readonly BackfilledRecord[]>;
  /** Returns the record of a collection with this id as it is stored now; undefined when there is none. Throws not_found (the collection). */
  present(collection: string, id: string): Promise<BackfilledRecord | undefined>;
}

/** Which records of a collection. */
export interface RecordChoice {
  /** The id of the collection. */
  readonly collection: string;
  /** In the grammar of lists; '' for all. */
  readonly filter: string;
  /** Another condition on a record, of which the row has the alias `baseAlias`; then there is no filter. */
  readonly condition?: Sql;
  /** The author of the filter, who decides what it may name; absent for one that was checked when the backfill was requested. */
  readonly author?: Caller;
  /** Milliseconds since 1970, for macros such as `@now`. */
  readonly now: number;
}

/** The records behind a position, up to another. */
export interface RecordRange {
  readonly after: number;
  readonly upTo: number;
}

/** The part of a range that was read: up to which position, and whether that is its end. */
export interface RangePart {
  readonly end: number;
  readonly isLast: boolean;
}

export interface NextRecords extends RangePart {
  readonly positions: readonly number[];
}

export interface LockedRecord {
  readonly id: string;
  readonly position: number;
  readonly revision: number;
}

/** A record as it is now: the content of its events, and its values as those of its creation. */
export interface BackfilledRecord {
  readonly about: Pick<NewEvent, 'collection' | 'collectionName' | 'record' | 'revision' | 'dataJson'>;
  readonly change: RecordChange;
}
