import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import { useSyncExternalStore } from 'react';

type Tone = 'ok' | 'failed';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const shownMs = 4_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** Says for some seconds that something is done. Errors belong beside what they are about; only those of nothing on the page come here. */
export function showToast(text: string, tone: Tone = 'ok'): void {
  const toast = { id: nextId, text, tone };
  nextId += 1;
  change([...toasts, toast]);
  setTimeout(() => change(toasts.filter(({ id }) => id !== toast.id)), shownMs);
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where they show. Once in the page. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone }) => {
        const Icon = tone === 'ok' ? CircleCheck : CircleAlert;
        return (
          <div key={id} className="toast" data-tone={tone}>
            <Icon size={15} aria-hidden />
            {text}
          </div>
        );
      })}
    </div>
  );
}
