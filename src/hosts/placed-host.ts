import { Histogram } from '../base/histogram.ts';
import type { Logger } from '../base/logger.ts';
import type { Answer } from '../http/answer.ts';
import type { ClientTraces } from '../http/client-address.ts';
import type { InstanceHost } from '../http/host/instance-host.ts';
import type { LoggedRequest } from '../http/host/log-request.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { InstanceRoute } from '../http/route.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { Metric, Sample } from '../logs/metric.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import type { StorageFault } from '../storage/storage-health.ts';
import type { HostMember } from './host-member.ts';
import type { MetricMessage, SampleMessage } from './host-messages.ts';
import type { OpenHost } from './open-host.ts';
import type { Placements } from './placements.ts';

export interface PlacedHostParts {
  readonly running: OpenHost;
  /** What serves requests: the host of `running`, which a test may have wrapped. */
  readonly host: InstanceHost;
  readonly data: DataDirectory;
  readonly placements: Placements;
  readonly logger: Logger;
}

/** A host in this thread, which runs the instances that are placed in it. The data stays open when it stops. */
export class PlacedHost implements HostMember {
  readonly #parts: PlacedHostParts;
  #waiting = 0;

  constructor(parts: PlacedHostParts) {
    this.#parts = parts;
  }

  get placedCount(): number {
    return this.#parts.placements.count;
  }

  get waitingCount(): number {
    return this.#waiting;
  }

  async serve(route: InstanceRoute, request: InstanceRequest): Promise<Answer> {
    const { data, host } = this.#parts;
    this.#waiting += 1;
    try {
      // It was made or resumed a moment ago.
      if (!data.directory.isActive(request.entry.id)) await data.directory.refresh();
      return await host.serve(route, request);
    } finally {
      this.#waiting -= 1;
    }
  }

  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void {
    this.#parts.host.logRefusal(entry, request, error);
  }

  addressBefore(entry: InstanceEntry | null, traces: ClientTraces): Uint8Array {
    return this.#parts.host.addressBefore(entry, traces);
  }

  frameAncestors(entry: InstanceEntry): Promise<readonly string[]> {
    return this.#parts.host.frameAncestors(entry);
  }

  place(ids: readonly string[]): void {
    const { placements, running } = this.#parts;
    for (const id of ids) {
      if (!placements.owns(id)) this.#add(id);
      running.take(id);
    }
  }

  #add(id: string): void {
    this.#parts.placements.add(id);
    this.#parts.running.comeBack(id);
  }

  async leave(id: string): Promise<boolean> {
    const { placements, running, logger } = this.#parts;
    placements.leave(id);
    try {
      await running.handOver(id);
      placements.remove(id);
      return true;
    } catch (error) {
      logger.error('An instance could not be moved.', { instance: id, error });
      this.#add(id);
      running.take(id);
      return false;
    }
  }

  async visit(entry: InstanceEntry): Promise<boolean> {
    const { data, logger } = this.#parts;
    const loan = await data.instances.borrow(entry).catch((error: unknown) => {
      logger.warn('An instance could not be opened in the background.', { instance: entry.id, error });
    });
    loan?.release();
    return loan !== undefined;
  }

  faultOf(instance: string | undefined): StorageFault | undefined {
    return this.#parts.running.faultOf(instance);
  }

  async metrics(): Promise<readonly MetricMessage[]> {
    const { metrics } = this.#parts.running;
    await metrics.refresh();
    return metrics.list.map(toMetricMessage);
  }

  stopSending(): Promise<void> {
    return this.#parts.running.stopSending();
  }

  stop(): Promise<void> {
    return this.#parts.running.stop();
  }
}

function toMetricMessage({ name, help, type, samples }: Metric): MetricMessage {
  return { name, help, type, samples: samples().map(toSampleMessage) };
}

function toSampleMessage({ labels, value }: Sample): SampleMessage {
  if (!(value instanceof Histogram)) return { labels, value };
  const { bounds, counts, sum } = value;
  return { labels, value: { bounds, counts, sum } };
}
