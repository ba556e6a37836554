import { alwaysSafe } from '../events/log-horizon.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import { whileActive } from './loans.ts';
import { Janitor, type JanitorOptions, rowByRow } from './janitor.ts';

/** The delivering side of a server: the dispatcher, and how it is woken. */
export interface Delivering {
  readonly dispatcher: Dispatcher;
  readonly janitor: Pick<Janitor, 'visit' | 'trimBytes' | 'canTrim' | 'tidyInstance'>;
  /** Notes that this process committed events, or that anything may have changed. Only a hint: it may be lost. */
  wake(instanceId: string, what?: 'log' | 'all'): void;
  /** Notifies other nodes of a commit. Only a hint as well. */
  notifyNodes(instanceId: string): void;
  /** The id of this node; undefined where there are no others. */
  readonly node: string | undefined;
  start(): Promise<void>;
  /** Claims stop at once; attempts in flight have `graceMs` to end. */
  stop(graceMs: number): Promise<void>;
}

export interface DeliveringParts extends Omit<DispatcherOptions, 'ownership' | 'onForeign' | 'safeEnd'> {
  /** How many days the log of events and deliveries is kept; 0 for ever. */
  readonly webhookDays: number;
  /** As `borrowAtOnce`, but waits until there is room. */
  readonly borrow: JanitorOptions['borrow'];
  /** Whether webhooks of an instance may be sent now. */
  readonly isActive: (instanceId: string) => boolean;
  /** Called when another node has committed events. */
  readonly onHint: (instanceId: string) => void;
}

/** Delivers for all instances that are run here, and nowhere else. The start looks once for pending deliveries. */
export function deliverAlone(parts: DeliveringParts & Pick<DispatcherOptions, 'ownership'>): Delivering {
  const ownership = whileActive(parts.ownership, parts.isActive);
  const dispatcher = new Dispatcher({ ...parts, ownership, onForeign: () => undefined });
  const janitor = new Janitor({
    ...parts,
    days: parts.webhookDays,
    wake: (id) => dispatcher.wake(id),
    owns: (id) => ownership.owns(id),
    retention: rowByRow,
    safeEnd: alwaysSafe,
  });
  return {
    dispatcher,
    wake: dispatcher.wake.bind(dispatcher),
    janitor,
    notifyNodes: () => undefined,
    node: undefined,
    start: () => {
      dispatcher.start();
      janitor.start();
      return Promise.resolve();
    },
    stop: async (graceMs) => {
      await Promise.all([janitor.stop(), dispatcher.stop(graceMs)]);
    },
  };
}
