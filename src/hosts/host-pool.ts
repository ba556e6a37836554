import { assert } from '../base/assert.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { Answer } from '../http/answer.ts';
import type { InstanceHost } from '../http/host/instance-host.ts';
import type { LoggedRequest } from '../http/host/log-request.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { InstanceRoute } from '../http/route.ts';
import type { InstanceEntry } from '../instances/instance-directory.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { StorageFault } from '../storage/storage-health.ts';
import type { MetricMessage } from './host-messages.ts';
import { HostThread, type HostThreadOptions } from './host-thread.ts';

/** Parts of the threads that tests replace. */
export type ThreadParts = Pick<HostThreadOptions, 'file' | 'heapMbMax'>;

export interface HostPoolOptions extends ThreadParts {
  readonly config: Config;
  readonly threads: number;
  /** Of answers in memory, of all hosts together. */
  readonly memoryBytes: number;
  /** How many attempts of webhooks all hosts may have open. */
  readonly slotsMax: number;
  readonly logger: Logger;
  /** Writes the metrics of the whole process. */
  readonly write: () => Promise<Exposition>;
}

/** Runs instances in threads: each is placed on one of them at a time, and opened nowhere else. */
export class HostPool implements InstanceHost {
  readonly #threads: readonly HostThread[];
  readonly #placements = new Map<string, HostThread>();

  constructor({ threads, memoryBytes, slotsMax, ...options }: HostPoolOptions) {
    const shares = {
      memoryBytes: Math.floor(memoryBytes / threads),
      slotsMax: Math.max(slotsMin, Math.floor(slotsMax / threads)),
    };
    this.#threads = Array.from(
      { length: threads },
      (_, place) => new HostThread({ ...options, ...shares, place }),
    );
  }

  /** Rejects when a host cannot be opened; then all are ended. */
  async opened(): Promise<void> {
    try {
      await Promise.all(this.#threads.map((thread) => thread.opened));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Places instances that have no place yet, so that what is due in them is done. */
  place(ids: Iterable<string>): void {
    for (const id of ids) this.#hostOf(id);
  }

  serve(route: InstanceRoute, request: InstanceRequest): Promise<Answer> {
    return this.#hostOf(request.entry.id).serve(route, request);
  }

  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void {
    this.#placements.get(entry.id)?.logRefusal(entry, request, error);
  }

  frameAncestors(entry: InstanceEntry): Promise<readonly string[]> {
    return this.#hostOf(entry.id).frameAncestors(entry);
  }

  /** Of the host of an instance, or of any host where none is named. */
  faultOf(instance: string | undefined): StorageFault | undefined {
    const own = instance === undefined ? undefined : this.#placements.get(instance);
    const hosts = own === undefined ? this.#threads : [own];
    return hosts.map((host) => host.faultOf(instance)).find((fault) => fault !== undefined);
  }

  async stopSending(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stopSending()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stop()));
  }

  /** Reads the counts of all hosts. */
  async metrics(): Promise<readonly (readonly MetricMessage[])[]> {
    return Promise.all(this.#threads.map((thread) => thread.metrics()));
  }

  /** At first use, an instance goes to the host with the fewest requests, or else the fewest instances. */
  #hostOf(id: string): HostThread {
    const before = this.#placements.get(id);
    if (before !== undefined) return before;
    const [least] = this.#threads.toSorted(
      (a, b) => a.waitingCount - b.waitingCount || a.placedCount - b.placedCount,
    );
    assert(least !== undefined, 'a pool has threads');
    this.#placements.set(id, least);
    least.place([id]);
    return least;
  }
}

/** With fewer, the shares of instances and endpoints would be of less than one attempt. */
const slotsMin = 16;
