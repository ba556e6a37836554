import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
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
}

const firstPage = 40;
// The first page fills a screen and has to come at once; whoever scrolls wants many.
const laterPages = 200;

/** The records page by page, each beginning where the one before ended, however many there are and whatever is added meanwhile. */
export function recordsQuery(selection: RecordSelection) {
  const { collection, filter, sort, expand } = selection;
  return infiniteQueryOptions({
    queryKey: ['records', collection, 'list', filter, sort, expand],
    queryFn: async ({ pageParam, signal }) => {
      const query = {
        cursor: pageParam,
        perPage: pageParam === '' ? firstPage : laterPages,
        sort: sort === '' ? '-@rowid' : sort,
        ...(filter !== '' && { filter }),
        ...(expand !== '' && { expand }),
      };
      const answer = await call('GET /api/collections/{collection}/records', {
        path: { collection },
        query,
        signal,
      });
      return { items: answer.items, nextCursor: 'nextCursor' in answer ? answer.nextCursor : null };
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
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
