import type { Collection } from './collection.ts';

/** Which of these, itself aside, have relations that lead to the collection. */
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
