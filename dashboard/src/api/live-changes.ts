import { useEffect, useEffectEvent } from 'react';
import { client, type RecordModel } from './client.ts';

/** A change of a record for those that the filter selects: one that comes to match it is created, one that no longer does is deleted. */
export interface LiveChange {
  readonly action: 'create' | 'update' | 'delete';
  readonly record: RecordModel;
}

/** How long a first connection that failed is left alone. */
const againMs = 5_000;

/** Calls `onChange` for each change of the records that the filter selects, from now on. Where realtime cannot be had, for none. */
export function useLiveChanges(
  { collection, filter }: { readonly collection: string; readonly filter: string },
  onChange: (change: LiveChange) => void,
): void {
  const tell = useEffectEvent(onChange);
  useEffect(() => {
    let isOver = false;
    let end: (() => Promise<void>) | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const options = filter === '' ? {} : { filter, transitions: true };
    const listen = ({ action: sent, record }: { action: string; record: RecordModel }): void => {
      const action = actions.get(sent);
      if (!isOver && action !== undefined) tell({ action, record });
    };
    const begin = (): void => {
      client
        .collection(collection)
        .subscribe('*', listen, options)
        .then(
          (unsubscribe) => {
            end = unsubscribe;
            if (isOver) void unsubscribe().catch(ignore);
          },
          // The SDK goes on with a connection that it once had, but gives up a first one. A table without live rows is still a table.
          () => {
            if (!isOver) timer = setTimeout(begin, againMs);
          },
        );
    };
    begin();
    return () => {
      isOver = true;
      clearTimeout(timer);
      void end?.().catch(ignore);
    };
  }, [collection, filter]);
}

const actions: ReadonlyMap<string, LiveChange['action']> = new Map([
  ['create', 'create'],
  ['enter', 'create'],
  ['update', 'update'],
  ['leave', 'delete'],
  ['delete', 'delete'],
]);

function ignore(): void {}
