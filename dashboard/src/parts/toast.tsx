import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import { useSyncExternalStore } from 'react';

type Tone = 'ok' | 'failed';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  readonly action: ToastAction | undefined;
}

/** What can still be done about it. */
interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

const shownMs = 4_000;
const shownWithActionMs = 10_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** Says for some seconds that something is done. Errors belong beside what they are about; only those of nothing on the page come here. */
export function showToast(text: string, tone: Tone = 'ok', action?: ToastAction): void {
  const toast = { id: nextId, text, tone, action };
  nextId += 1;
  // Of those with a button, the last one: a column of them would hide what one is working on.
  change([...toasts.filter((one) => action === undefined || one.action === undefined), toast]);
  setTimeout(() => dismiss(toast.id), action === undefined ? shownMs : shownWithActionMs);
}

function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
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
      {shown.map(({ id, text, tone, action }) => {
        const Icon = tone === 'ok' ? CircleCheck : CircleAlert;
        return (
          <div key={id} className="toast" data-tone={tone}>
            <Icon size={15} aria-hidden />
            {text}
            {action !== undefined && (
              <button
                type="button"
                className="toast-action"
                onClick={() => {
                  dismiss(id);
                  action.run();
                }}
              >
                {action.label}
              </button>
            )}
          </div>
        );
      })}
    </div>
  );
}
