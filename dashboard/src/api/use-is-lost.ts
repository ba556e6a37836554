import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { basePath, client, lost } from './client.ts';

/** How often it is asked whether the service still answers, while the page is seen and realtime does not tell. Within two seconds one knows. */
const beatMs = 1_500;
/** A service that needs longer is busy, and does not answer for what one sees. */
const patienceMs = 5_000;

let isLost = false;
/** What is shown is to be read again. */
let isBack = false;
/** Realtime was cut off, so that changes are missed until it is there again. */
let isCutOff = false;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  if (isLost === next) return;
  isLost = next;
  if (!next) isBack = true;
  for (const listener of listeners) listener();
}

lost.addEventListener('lost', () => set(true));

client.realtime.onDisconnect = (topics) => {
  // Without topics, nobody listens any more.
  if (topics.length === 0) return;
  isCutOff = true;
  void beat();
};

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
      if (!document.hidden && (isLost || !client.realtime.isConnected)) await beat();
      if (isBack || (isCutOff && client.realtime.isConnected)) {
        isBack = false;
        isCutOff &&= !client.realtime.isConnected;
        void queries.invalidateQueries();
      }
      timer = setTimeout(() => void next(), beatMs);
    };
    timer = setTimeout(() => void next(), beatMs);
    const check = (): void => void beat();
    window.addEventListener('offline', check);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('offline', check);
    };
  }, [queries]);
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isLost,
  );
}
