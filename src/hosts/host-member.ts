import type { InstanceHost } from '../http/host/instance-host.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { StorageFault } from '../storage/storage-health.ts';
import type { MetricMessage } from './host-messages.ts';

/** One of the hosts of a pool. It runs the instances that the pool places in it. */
export interface HostMember extends Omit<InstanceHost, 'release'> {
  /** How many instances it runs. */
  readonly placedCount: number;
  /** How many requests it has not answered. */
  readonly waitingCount: number;
  /** Makes it run these instances, and do what is due in them. */
  place(ids: readonly string[]): void;
  /** Makes it hand over an instance. Returns false where it cannot: then it goes on to run it. */
  leave(id: string): Promise<boolean>;
  /** Opens an instance. Returns whether it could. */
  visit(entry: InstanceEntry): Promise<boolean>;
  /** Why data that an instance needs cannot be used as it should be. */
  faultOf(instance: string | undefined): StorageFault | undefined;
  /** Returns what it counts; nothing while it cannot answer. */
  metrics(): Promise<readonly MetricMessage[]>;
  /** Ends realtime connections and webhooks; see `OpenHost`. */
  stopSending(): Promise<void>;
  stop(): Promise<void>;
}
