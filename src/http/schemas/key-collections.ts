import type { Collection } from '../../collections/collection.ts';
import { distinctNames, foldName } from '../../base/distinct-names.ts';
import type { OpenApiDocument } from './schema.ts';

/** A collection, and what the names of its schemas and operations in a document are made of. */
export interface KeyedCollection {
  readonly collection: Collection;
  readonly key: string;
}

/** The schemas of a collection: `posts.Record`. */
const parts = ['Record', 'List', 'Create', 'Update', 'Event'];

/** The operations of a collection: `listRecords_posts`. */
const operations = ['listRecords', 'createRecord', 'viewRecord', 'updateRecord', 'deleteRecord', 'webhook'];

/**
 * Gives each collection a key: its name, or that with a number where the names made of it would be those of others in the case and without
 * the separators that generators of clients leave them. `_users` beside `users` is `_users2`. No key begins with a digit.
 */
export function keyCollections(
  { paths, webhooks = {}, components }: Pick<OpenApiDocument, 'paths' | 'webhooks' | 'components'>,
  collections: readonly Collection[],
): readonly KeyedCollection[] {
  const ids = [paths, webhooks].flatMap((items) =>
    Object.values(items).flatMap((item) => Object.values(item).map(({ operationId }) => operationId)),
  );
  const existing = new Set([...ids, ...Object.keys(components.schemas)].map(foldName));
  const makeKey = distinctNames({ existing, formsOf: namesOf });
  const stems = collections.map((collection) => ({ collection, stem: stemOf(collection) }));
  const isPlain = ({ collection, stem }: (typeof stems)[number]): boolean =>
    stem === collection.name && !stem.includes('_');
  // The plain names stay as they are, whichever collection is older.
  return [...stems.filter((each) => isPlain(each)), ...stems.filter((each) => !isPlain(each))].map(
    ({ collection, stem }) => ({ collection, key: makeKey(stem) }),
  );
}

function stemOf({ name }: Collection): string {
  return /^_*[a-z]/i.test(name) ? name : `c${name}`;
}

function namesOf(key: string): readonly string[] {
  return [...parts.map((part) => foldName(key + part)), ...operations.map((id) => foldName(id + key))];
}
