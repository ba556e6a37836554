import { UniqueViolation } from '../storage/engine-errors.ts';
import type { Collection } from './collection.ts';

/** A unique index cannot be made, as records that are there have equal values. */
export class EqualRecords extends UniqueViolation {
  /** As it was to become. */
  readonly collection: Collection;
  readonly indexName: string;

  constructor(collection: Collection, indexName: string, cause: UniqueViolation) {
    super(cause.columns, cause.index, cause);
    this.collection = collection;
    this.indexName = indexName;
  }
}
