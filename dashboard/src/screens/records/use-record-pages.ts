import { keepPreviousData, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { RecordModel } from '../../api/client.ts';
import {
  pageRows,
  recordCountQuery,
  type RecordPage,
  recordPageQuery,
  recordPagesKey,
  type RecordSelection,
} from '../../api/records.ts';

/** So many pages on each side of those in sight are kept. A table of any size takes the memory of these. */
const pagesKept = 25;

/** The rows of a table, of which those are there that somebody has looked at lately. */
export interface RecordRows {
  /** How many rows there are, as far as that is known. */
  readonly total: number;
  readonly loaded: readonly RecordModel[];
  /** Undefined for a row that is not there. */
  readonly at: (index: number) => RecordModel | undefined;
  /** -1 for a record that is not there. */
  readonly indexOf: (id: string | undefined) => number;
}

interface PagesOptions {
  /** The page of the address, from 1 on. */
  readonly page: number;
  /** How many records there are; undefined as long as they are being counted. */
  readonly count: number | undefined;
}

/** Reads the pages of a table that are in sight, wherever they are in it, and forgets those far away. */
export function useRecordPages(selection: RecordSelection, page: number) {
  const queries = useQueryClient();
  const [wanted, setWanted] = useState<readonly number[]>(() => [page - 1]);
  const queryKey = recordPagesKey(selection);
  const first = useQuery({
    ...recordPageQuery(selection, 0),
    // The rows before stay until the next ones are there: nothing flickers while one types.
    placeholderData: keepPreviousData,
  });
  // The first rows come before they are counted, which may take longer.
  const { data: count } = useQuery({ ...recordCountQuery(selection), enabled: first.isSuccess });
  const later = wanted.filter((at) => at > 0);
  const others = useQueries({ queries: later.map((at) => recordPageQuery(selection, at, count)) });
  const pages = new Map<number, RecordPage>();
  for (const [key, data] of queries.getQueriesData<RecordPage>({ queryKey }))
    if (data !== undefined) pages.set(Number(key.at(-1)), data);
  // Read here too, as a query draws its reader anew for what that has read of it.
  for (const [index, { data }] of [first, ...others].entries())
    if (data !== undefined) pages.set(later[index - 1] ?? 0, data);
  const failed = [first, ...others].filter(({ isError }) => isError);
  const rows = rowsOf(pages, { page, count });
  return {
    count,
    rows,
    isPending: first.isPending,
    isSuccess: first.isSuccess,
    error: failed[0]?.error ?? undefined,
    refetch: async () => Promise.all(failed.map(async (query) => query.refetch())),
    /** Which rows are in sight. Keeps what is near them, and the page of a record. */
    look: ({ from, to }: RowRange, keptId: string | undefined): void => {
      const end = Math.min(to + pageRows / 2, rows.total - 1);
      const next = pagesBetween({ from: from - pageRows / 2, to: end });
      if (next.join() !== wanted.join()) setWanted(next);
      const isFar = (at: number): boolean => at > 0 && next.every((one) => Math.abs(one - at) > pagesKept);
      queries.removeQueries({
        queryKey,
        type: 'inactive',
        predicate: (query) => {
          const at = Number(query.queryKey.at(-1));
          return isFar(at) && pages.get(at)?.items.some(({ id }) => id === keptId) !== true;
        },
      });
    },
    /** The ids of the rows from one to another, both included. Reads those that are not there. */
    idsBetween: async (range: RowRange): Promise<readonly string[]> => {
      const read = pagesBetween(range).map(async (at) =>
        queries.ensureQueryData(recordPageQuery(selection, at)),
      );
      const start = pagesBetween(range)[0] ?? 0;
      const items = (await Promise.all(read)).flatMap((one) => one.items);
      return items.slice(range.from - start * pageRows, range.to + 1 - start * pageRows).map(({ id }) => id);
    },
  };
}

export interface RowRange {
  readonly from: number;
  readonly to: number;
}

function pagesBetween({ from, to }: RowRange): readonly number[] {
  const first = Math.max(0, Math.floor(from / pageRows));
  const last = Math.max(first, Math.floor(to / pageRows));
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function rowsOf(pages: ReadonlyMap<number, RecordPage>, { page, count }: PagesOptions): RecordRows {
  return {
    total: totalOf(pages, { page, count }),
    loaded: [...pages].toSorted(([one], [other]) => one - other).flatMap(([, { items }]) => items),
    at: (index) => pages.get(Math.floor(index / pageRows))?.items[index % pageRows],
    indexOf: (id) => {
      for (const [at, { items }] of id === undefined ? [] : pages) {
        const position = items.findIndex((record) => record.id === id);
        if (position >= 0) return at * pageRows + position;
      }
      return -1;
    },
  };
}

/** A page that is not full is the last one. Before that is seen, the count tells; before that is there, there is room for another page. */
function totalOf(pages: ReadonlyMap<number, RecordPage>, { page, count }: PagesOptions): number {
  const endOf = ([at, { items }]: readonly [number, RecordPage]): number => at * pageRows + items.length;
  const ends = [...pages]
    .filter(([, { items, nextCursor }]) => items.length < pageRows || nextCursor === null)
    .map(endOf);
  if (ends.length > 0) return Math.min(...ends);
  const seen = Math.max(0, ...[...pages].map(endOf));
  return Math.max(seen, count ?? Math.max(seen, page * pageRows) + pageRows);
}
