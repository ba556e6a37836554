import { useEffect, useEffectEvent } from 'react';
import { client, type RecordModel } from './client.ts';

/** A change of a record, as realtime tells it. */
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
    const options = filter === '' ? {} : { filter };
    const subscribed = client.collection(collection).subscribe<RecordModel>(
      '*',
      ({ action, record }) => {
        if (!isOver && isAction(action)) tell({ action, record });
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

function isAction(action: string): action is LiveChange['action'] {
  return action === 'create' || action === 'update' || action === 'delete';
}

function ignore(): void {}
