import type { Collection } from './collection.ts';

/** Returns the candidates, other than the collection itself, that have a relation to it. */
export function referringTo(
  collection: Collection,
  candidates: readonly Collection[],
): readonly Collection[] {
  return candidates.filter(
    ({ id, fields }) =>
      id !== collection.id &&
      fields.some(({ type, options }) => type === 'relation' && options['collectionId'] === collection.id),
  );
}
