import { useEffect, useEffectEvent } from 'react';
import { client, type RecordModel } from './client.ts';

/** A change of a record for those that the filter selects: one that comes to match it is created, one that no longer does is deleted. */
export interface LiveChange {
  readonly action: 'create' | 'update' | 'delete';
  readonly record: RecordModel;
}

/** Calls `onChange` for each change of the records that the filter selects, from now on. Where realtime cannot be had, for none. */
export function useLiveChanges(
  { collection, filter }: { readonly collection: string; readonly filter: string },
  onChange: (change: LiveChange) => void,
): void {
  const tell = useEffectEvent(onChange);
  useEffect(() => {
    let isOver = false;
    let end: (() => Promise<void>) | undefined;
    const options = filter === '' ? {} : { filter, transitions: true };
    const subscribed = client.collection(collection).subscribe<RecordModel>(
      '*',
      ({ action: sent, record }) => {
        const action = actions.get(sent);
        if (!isOver && action !== undefined) tell({ action, record });
      },
      options,
    );
    subscribed.then(
      (unsubscribe) => {
        end = unsubscribe;
        if (isOver) void unsubscribe().catch(ignore);
      },
      // A table without live rows is still a table, and the SDK tries again by itself.
      ignore,
    );
    return () => {
      isOver = true;
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
