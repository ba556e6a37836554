import type { InstanceHost } from '../http/host/instance-host.ts';
import type { InstanceMetrics } from '../http/service-metrics.ts';
import type { StorageFault } from '../storage/storage-health.ts';

/** What runs the instances of a data directory: their requests, webhooks, realtime clients, mails and files. */
export interface RunningHosts {
  readonly host: InstanceHost;
  readonly metrics: InstanceMetrics;
  /** Why data that an instance needs cannot be used as it should be; that of all instances where none is named. */
  readonly faultOf: (instance: string | undefined) => StorageFault | undefined;
  /** Begins what happens without requests. */
  start(): Promise<void>;
  /** Ends realtime connections and webhooks. Requests that are running may still write. */
  stopSending(): Promise<void>;
  /** Ends what is left, once no request is running. The data stays open. */
  stop(): Promise<void>;
}
