import { queryOptions, useQuery } from '@tanstack/react-query';
import { call, type Collection, type Field } from './client.ts';
import { mayUse } from './session.ts';

/** Every collection of the instance with its definition, by name. There are at most 1,000. */
export const collectionsQuery = queryOptions({
  queryKey: ['collections'],
  queryFn: async ({ signal }) => {
    const query = { perPage: 1000, skipTotal: true, sort: 'name' };
    return (await call('GET /api/collections', { query, signal })).items;
  },
  staleTime: 30_000,
  // An API key may be for something else.
  enabled: () => mayUse('collections:read'),
});

/** The collections once they are there, for what shows without them too. */
export function useLoadedCollections(): readonly Collection[] | undefined {
  return useQuery(collectionsQuery).data;
}

/** The collections that somebody has made; none as long as they are not there. */
export function useOwnCollections(): readonly Collection[] {
  return useLoadedCollections()?.filter(({ system }) => !system) ?? [];
}

/** Returns the collection with this name or id, as the API takes both. */
export function findCollection(collections: readonly Collection[], key: string): Collection | undefined {
  return collections.find(({ name, id }) => id === key || name.toLowerCase() === key.toLowerCase());
}

/** The fields that a table shows: all but passwords, which no answer holds. */
export function shownFields({ fields }: Collection): readonly Field[] {
  return fields.filter(({ type, name }) => type !== 'password' && name !== 'tokenKey');
}

/** A field of one type: `FieldOf<'select'>`. */
export type FieldOf<Type extends Field['type']> = Extract<Field, { readonly type: Type }>;

/** The fields that stand for a record where there is room for a line only: those marked presentable, else the first that tells something. */
export function presentableFields(collection: Collection): readonly Field[] {
  const marked = collection.fields.filter(({ presentable }) => presentable);
  if (marked.length > 0) return marked;
  const telling = collection.fields.find(
    ({ name, type }) => name !== 'id' && (type === 'text' || type === 'email') && name !== 'tokenKey',
  );
  return telling === undefined ? [] : [telling];
}
