import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import { soleOwnership } from './ownership.ts';

/** The delivering side of a server: the dispatcher, and how it learns what there is to deliver. */
export interface Delivering {
  readonly dispatcher: Dispatcher;
  /** Tells that something new was committed by this process. Only a hint: it may be lost. */
  wake(instanceId: string): void;
  start(): Promise<void>;
  /** Claims stop at once; attempts in flight have `graceMs` to end. */
  stop(graceMs: number): Promise<void>;
}

export type DeliveringParts = Omit<DispatcherOptions, 'ownership' | 'onForeign'>;

/** Delivers for all instances, as this process alone holds the data directory. The start looks once for what is still pending. */
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
