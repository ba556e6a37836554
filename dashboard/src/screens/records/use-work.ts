import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Failure } from '../../api/client.ts';
import type { Progress } from './bulk-work.ts';
import { refreshRecords } from './live-rows.ts';

interface WorkState extends Progress {
  readonly verb: string;
  readonly error?: unknown;
}

interface Work {
  readonly verb: string;
  readonly run: (signal: AbortSignal, onProgress: (progress: Progress) => void) => Promise<void>;
  /** Whether the rows are others afterwards. */
  readonly changesRows: boolean;
}

/** Does one long thing at a time, with its progress, and ends it when it is cancelled or its place is left. */
export function useWork(collection: string) {
  const queries = useQueryClient();
  const [state, setState] = useState<WorkState>();
  const [isBusy, setIsBusy] = useState(false);
  const control = useRef<AbortController>(undefined);
  useEffect(() => () => control.current?.abort(), []);
  const start = async ({ verb, run, changesRows }: Work): Promise<boolean> => {
    const { signal } = (control.current = new AbortController());
    setIsBusy(true);
    setState({ verb, done: 0, failed: [] });
    try {
      await run(signal, (progress) => setState({ verb, ...progress }));
      return true;
    } catch (error) {
      const isStopped = signal.aborted || (error instanceof Failure && error.isAborted);
      setState((before) => ({ verb, done: 0, failed: [], ...before, ...(!isStopped && { error }) }));
      return false;
    } finally {
      setIsBusy(false);
      if (changesRows) await refreshRecords(queries, collection);
    }
  };
  return { state, isBusy, start, cancel: () => control.current?.abort(), clear: () => setState(undefined) };
}
