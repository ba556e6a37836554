import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import { soleOwnership } from './ownership.ts';

/** The delivering side of a server: the dispatcher, and how it learns what there is to do. */
export interface Delivering {
  readonly dispatcher: Dispatcher;
  /** Something new was committed here. A hint: nothing depends on it. */
  wake(instanceId: string): void;
  start(): Promise<void>;
  /** Claims stop at once, attempts in flight have `graceMs` to end. */
  stop(graceMs: number): Promise<void>;
}

export type DeliveringParts = Omit<DispatcherOptions, 'ownership' | 'onForeign'>;

/** All instances are ours, because the data directory is: whatever an earlier process left pending is looked for once. */
export function deliverAlone(parts: DeliveringParts): Delivering {
  const dispatcher = new Dispatcher({ ...parts, ownership: soleOwnership, onForeign: () => undefined });
  return {
    dispatcher,
    wake: (instanceId) => dispatcher.wake(instanceId),
    start: () => {
      dispatcher.start();
      return Promise.resolve();
    },
    stop: (graceMs) => dispatcher.stop(graceMs),
  };
}
