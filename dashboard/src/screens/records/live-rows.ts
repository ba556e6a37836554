import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { RecordModel } from '../../api/client.ts';
import { useLiveChanges } from '../../api/live-changes.ts';
import type { RecordPage } from '../../api/records.ts';

/**
 * Keeps the rows current without moving them: a change is shown in its row, a deleted record is struck through, and new ones are counted
 * until somebody wants to see them.
 */
export function useLiveRows(
  {
    collection,
    filter,
    rows,
  }: { readonly collection: string; readonly filter: string; readonly rows: readonly RecordModel[] },
  openId: string | undefined,
) {
  const queries = useQueryClient();
  const [created, setCreated] = useState<ReadonlySet<string>>(new Set());
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  useLiveChanges({ collection, filter }, ({ action, record }) => {
    if (action === 'create') setCreated((ids) => new Set(ids).add(record.id));
    if (action === 'delete') setGone((ids) => new Set(ids).add(record.id));
    else {
      // One that has left the filter may come back.
      setGone((ids) => new Set([...ids].filter((id) => id !== record.id)));
      showChange(queries, collection, record);
    }
    if (action !== 'create' && record.id === openId)
      void queries.invalidateQueries({ queryKey: ['records', collection, 'view', record.id] });
  });
  // From now on nobody hears of changes: whoever comes back sees the rows as they were, and reads them again.
  useEffect(
    () => () => {
      const queryKey = ['records', collection, 'list'];
      void queries.invalidateQueries({ queryKey, refetchType: 'none' });
    },
    [queries, collection, filter],
  );
  const shown = new Set(rows.map(({ id }) => id));
  return {
    newCount: [...created].filter((id) => !shown.has(id)).length,
    gone,
    /** Gets the rows anew, from the first on. */
    showNew: async () => {
      setCreated(new Set());
      setGone(new Set());
      await refreshRecords(queries, collection);
    },
  };
}

/** Shows a record as it is now in every row that has it. What it is related to came with the list and stays. */
export function showChange(queries: QueryClient, collection: string, record: RecordModel): void {
  queries.setQueriesData<RecordPage>({ queryKey: ['records', collection, 'list'] }, (page) =>
    page?.items.some(({ id }) => id === record.id) === true
      ? {
          ...page,
          items: page.items.map((one) => (one.id === record.id ? { ...record, ...expandOf(one) } : one)),
        }
      : page,
  );
}

function expandOf({ expand }: RecordModel): Pick<RecordModel, 'expand'> {
  return expand === undefined ? {} : { expand };
}

export async function refreshRecords(queries: QueryClient, collection: string): Promise<void> {
  await Promise.all([
    queries.resetQueries({ queryKey: ['records', collection, 'list'] }),
    queries.invalidateQueries({ queryKey: ['records', collection, 'count'] }),
  ]);
}
