import { atMost } from '../base/at-most.ts';
import type { Server } from 'node:http';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import { type Metric, type Sample, single } from '../logs/metric.ts';
import type { Exposition, Metrics } from '../logs/metrics.ts';
import { type InstanceCounts, RequestCounts } from './request-counts.ts';
import { requestMetrics } from './request-metrics.ts';

/** How many instances are named by each of the metrics of instances: those with the largest values. */
export const instancesMax = 20;
/** How long those who ask wait for the backlog to be counted; then they are told what is known. */
const countingMs = 1_000;

/** Metrics of the instances, wherever they run, or of what all processes share. */
export interface InstanceMetrics {
  readonly list: readonly Metric[];
  /** Counts what is too costly to be counted for each reading. */
  refresh(): Promise<void>;
}

export interface MetricSources {
  readonly directory: InstanceDirectory;
  readonly engine: string;
  readonly ofInstances: InstanceMetrics;
  /** What all processes share; left out by a command. */
  readonly shared?: readonly InstanceMetrics[];
  readonly ofDisk?: Pick<InstanceMetrics, 'list'>;
  readonly version: string;
}

/** The metrics of this process, which are gathered from its parts when somebody asks. */
export class ServiceMetrics {
  /** Of requests, which the server counts. */
  readonly requests = new RequestCounts();
  readonly #sources: MetricSources;
  #metrics: Promise<Metrics> | undefined;
  #connections = 0;
  #server: Server | undefined;

  constructor(sources: MetricSources) {
    this.#sources = sources;
  }

  /** Sets whose connections are counted. */
  watch(server: Server): void {
    this.#server = server;
  }

  /** Begins to measure the process. */
  async open(): Promise<void> {
    await this.#opened();
  }

  async write(): Promise<Exposition> {
    const metrics = await this.#opened();
    await atMost(
      countingMs,
      Promise.all([
        this.#sources.ofInstances.refresh(),
        ...(this.#sources.shared ?? []).map((one) => one.refresh()),
        this.#countConnections(),
      ]),
    );
    return metrics.write();
  }

  /** Loaded when it is first needed: most processes are never asked. */
  #opened(): Promise<Metrics> {
    return (this.#metrics ??= import('../logs/metrics.ts').then(
      ({ Metrics: Writer }) => new Writer(this.#list()),
    ));
  }

  async #countConnections(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#connections = await new Promise((resolve) =>
      server.getConnections((error, count) => resolve(error === null ? count : this.#connections)),
    );
  }

  #list(): readonly Metric[] {
    const { directory, engine, version, ofInstances, shared = [], ofDisk } = this.#sources;
    const labels = { version, engine };
    return [
      {
        name: 'chancery_info',
        type: 'gauge',
        help: 'The version of the service and its engine; always 1.',
        samples: () => [{ labels, value: 1 }],
      },
      ...requestMetrics(this.requests),
      single(
        { name: 'chancery_http_connections', type: 'gauge', help: 'Connections of clients.' },
        () => this.#connections,
      ),
      ...ofInstances.list,
      ...shared.flatMap(({ list }) => list),
      ...(ofDisk?.list ?? []),
      single(
        { name: 'chancery_instances', type: 'gauge', help: 'Instances that there are.' },
        () => directory.all().length,
      ),
      single(
        {
          name: 'chancery_instances_to_upgrade',
          type: 'gauge',
          help: 'Instances that this version has not opened yet.',
        },
        () => directory.upgradesLeft,
      ),
      {
        name: 'chancery_instance_requests_total',
        type: 'counter',
        help: `Requests to the ${instancesMax} instances with most of them.`,
        samples: () => topOf(this.#countsBySlug(({ requests: count }) => count)),
      },
      {
        name: 'chancery_instance_sent_bytes_total',
        type: 'counter',
        help: `Bytes of answers of the ${instancesMax} instances with most of them.`,
        samples: () => topOf(this.#countsBySlug(({ sentBytes }) => sentBytes)),
      },
    ];
  }

  #countsBySlug(
    read: (counts: InstanceCounts) => number,
  ): readonly (readonly [slug: string, count: number])[] {
    const { directory } = this.#sources;
    return [...this.requests.instances].flatMap(([id, counts]) => {
      const entry = directory.find(id);
      // It was deleted.
      if (entry === undefined) this.requests.instances.delete(id);
      return entry === undefined ? [] : [[entry.slug, read(counts)] as const];
    });
  }
}

/** The largest of these, named by the slug of their instance. */
export function topOf(values: readonly (readonly [slug: string, value: number])[]): readonly Sample[] {
  return values
    .filter(([, value]) => value > 0)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, instancesMax)
    .map(([slug, value]) => ({ labels: { slug }, value }));
}
