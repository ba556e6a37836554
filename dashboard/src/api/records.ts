import { queryOptions } from '@tanstack/react-query';
import type { RecordModel } from './client.ts';
import { call, orFailure, client } from './client.ts';

/** Which records of a collection are shown, and in what order. */
export interface RecordSelection {
  readonly collection: string;
  /** An expression in the language of docs/filters.md; empty for all. */
  readonly filter: string;
  /** Names of fields with commas, `-` before those that descend; empty for the order in which they were made, newest first. */
  readonly sort: string;
  /** The relations whose records come along. */
  readonly expand: string;
  /** Whether a cursor can follow the order: not one by JSON values. */
  readonly hasCursors: boolean;
}

export interface RecordPage {
  readonly items: readonly RecordModel[];
  /** Leads to the page after this one: null at the end, undefined where this one was not found from the start. */
  readonly nextCursor?: string | null | undefined;
  /** Leads to the page before this one, in the reverse order, where this one was found from the end. */
  readonly previousCursor?: string | null | undefined;
}

/** The records of a page: they fill a screen, and come at once. */
export const pageRows = 40;

/** What the keys of all pages of a selection begin with. */
export function recordPagesKey({ collection, filter, sort, expand }: RecordSelection): readonly string[] {
  return ['records', collection, 'list', filter, sort, expand];
}

/**
 * A page of records, 0 for the first. It goes on where the page before it ended, or the one after it began, whatever is added meanwhile. The
 * last one is found from the end. Any other is found by its number: the service then skips all records before it.
 */
export function recordPageQuery(selection: RecordSelection, page: number, total?: number) {
  const { collection, filter, expand, hasCursors } = selection;
  const keyOf = (at: number) => [...recordPagesKey(selection), at];
  const sort = selection.sort === '' ? '-@rowid' : selection.sort;
  return queryOptions({
    queryKey: keyOf(page),
    queryFn: async ({ client: queries, signal }): Promise<RecordPage> => {
      const read = async (place: RecordPlace) => {
        const { isReverse = false, ...query } = place;
        const answer = await call('GET /api/collections/{collection}/records', {
          path: { collection },
          query: {
            perPage: pageRows,
            ...query,
            sort: isReverse ? reverseSort(sort) : sort,
            ...(filter !== '' && { filter }),
            ...(expand !== '' && { expand }),
          },
          signal,
        });
        const cursor = 'nextCursor' in answer ? answer.nextCursor : undefined;
        return isReverse
          ? { items: answer.items.toReversed(), previousCursor: cursor }
          : { items: answer.items, nextCursor: cursor };
      };
      if (!hasCursors) return read({ page: page + 1, skipTotal: true });
      if (page === 0) return read({ cursor: '' });
      const after = queries.getQueryData<RecordPage>(keyOf(page - 1))?.nextCursor;
      if (typeof after === 'string') return read({ cursor: after });
      const before = queries.getQueryData<RecordPage>(keyOf(page + 1))?.previousCursor;
      if (typeof before === 'string') return read({ cursor: before, isReverse: true });
      const rest = (total ?? 0) - page * pageRows;
      if (rest > 0 && rest <= pageRows) return read({ cursor: '', perPage: rest, isReverse: true });
      return read({ page: page + 1, skipTotal: true });
    },
    // Realtime keeps the rows current in their places. To read a page anew would move them.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Where a page is. */
interface RecordPlace {
  readonly cursor?: string;
  readonly page?: number;
  readonly perPage?: number;
  readonly skipTotal?: boolean;
  readonly isReverse?: boolean;
}

/** Equal records are in reverse, too: the last name tells how they stand. */
function reverseSort(sort: string): string {
  return sort
    .split(',')
    .map((term) => (term.startsWith('-') ? term.slice(1) : `-${term.replace(/^\+/, '')}`))
    .join(',');
}

/** How many records there are. Asked for on its own, as counting may take longer than finding the first page. */
export function recordCountQuery({ collection, filter }: Pick<RecordSelection, 'collection' | 'filter'>) {
  return queryOptions({
    queryKey: ['records', collection, 'count', filter],
    queryFn: async ({ signal }) => {
      const query = { perPage: 1, fields: 'id', ...(filter !== '' && { filter }) };
      const answer = await call('GET /api/collections/{collection}/records', {
        path: { collection },
        query,
        signal,
      });
      return 'totalItems' in answer ? answer.totalItems : 0;
    },
  });
}

/** Some records of a collection by their ids, at most a page; those that are gone are missing. */
export function recordsByIdQuery(collection: string, ids: readonly string[]) {
  return queryOptions({
    queryKey: ['records', collection, 'by-id', ids],
    queryFn: async ({ signal }) => {
      const filter = ids.map((id) => client.filter('id = {:id}', { id })).join(' || ');
      const query = { filter, perPage: ids.length, skipTotal: true };
      const path = { collection };
      return (await call('GET /api/collections/{collection}/records', { path, query, signal })).items;
    },
  });
}

/** A record and its revision, which a later change may ask for (`If-Match`). */
export interface RevisedRecord {
  readonly record: RecordModel;
  readonly etag: string;
}

export function recordQuery(collection: string, id: string) {
  return queryOptions({
    queryKey: ['records', collection, 'view', id],
    queryFn: async ({ signal }) => getRecord(collection, id, signal),
    // What is being edited must not change by itself.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}

export async function getRecord(
  collection: string,
  id: string,
  signal?: AbortSignal,
): Promise<RevisedRecord> {
  return revised(
    (options) => client.collection(collection).getOne(id, options),
    signal === undefined ? {} : { signal },
  );
}

/** Members of a record to set. Files are new ones; `name-` takes files away and `name+` adds some. */
export type RecordChanges = Readonly<Record<string, unknown>>;

export async function createRecord(collection: string, values: RecordChanges): Promise<RevisedRecord> {
  return revised((options) => client.collection(collection).create({ ...values }, options));
}

/** Changes a record. Throws a Failure of status 412 when it has changed since `etag`; without one it is changed whatever it is now. */
export async function updateRecord(
  {
    collection,
    id,
    etag,
  }: { readonly collection: string; readonly id: string; readonly etag: string | undefined },
  changes: RecordChanges,
): Promise<RevisedRecord> {
  const headers = etag === undefined || etag === '' ? {} : { 'If-Match': etag };
  return revised((options) => client.collection(collection).update(id, { ...changes }, options), { headers });
}

export async function deleteRecord(collection: string, id: string): Promise<void> {
  await orFailure(client.collection(collection).delete(id));
}

interface SendOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Record<string, string>;
}

/** The SDK gives the body of an answer only; the revision is in a header. */
async function revised(
  send: (
    options: SendOptions & { readonly fetch: typeof fetch },
  ) => Promise<{ id: string; collectionId: string; collectionName: string }>,
  options: SendOptions = {},
): Promise<RevisedRecord> {
  let etag = '';
  const noting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    etag = response.headers.get('etag') ?? '';
    return response;
  };
  // The type of the SDK leaves the expanded records open, ours does not.
  const record = (await orFailure(send({ ...options, fetch: noting }))) as RecordModel;
  return { record, etag };
}
