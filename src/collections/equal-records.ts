import { UniqueViolation } from '../storage/engine-errors.ts';
import type { Collection } from './collection.ts';

/** A unique index cannot be created because existing records have equal values. */
export class EqualRecords extends UniqueViolation {
  /** The collection as the refused change would have made it. */
  readonly collection: Collection;
  readonly indexName: string;

  constructor(collection: Collection, indexName: string, cause: UniqueViolation) {
    super(cause.columns, cause.index, cause);
    this.collection = collection;
    this.indexName = indexName;
  }
}
