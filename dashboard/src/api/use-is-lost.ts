import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { basePath, lost } from './client.ts';

/** How often it is asked whether the service still answers, while the page is seen. Within two seconds one knows. */
const beatMs = 1_500;
/** A service that needs longer is busy, and does not answer for what one sees. */
const patienceMs = 5_000;

let isLost = false;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  if (isLost === next) return;
  isLost = next;
  for (const listener of listeners) listener();
}

lost.addEventListener('lost', () => set(true));

/** Asks for the page, which no request log counts and no sign-in guards. */
async function beat(): Promise<void> {
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const { status } = await fetch(basePath, { method: 'HEAD', cache: 'no-store', signal });
    // A proxy whose service is gone.
    set(status >= 502 && status <= 504);
  } catch {
    set(true);
  }
}

/** Whether the service cannot be reached. What is shown is read again when it is back. */
export function useIsLost(): boolean {
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const next = async (): Promise<void> => {
      if (!document.hidden) {
        const wasLost = isLost;
        await beat();
        if (wasLost && !isLost) void queries.invalidateQueries();
      }
      timer = setTimeout(() => void next(), beatMs);
    };
    timer = setTimeout(() => void next(), beatMs);
    return () => clearTimeout(timer);
  }, [queries]);
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isLost,
  );
}
