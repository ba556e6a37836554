import type { Server } from 'node:http';
import type { Logger } from '../base/logger.ts';
import { systemClock } from '../base/clock.ts';
import type { WakeUp } from '../events/event-log.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import { type Metric, type Sample, single } from '../logs/metric.ts';
import type { Exposition, Metrics } from '../logs/metrics.ts';
import { storageMetrics } from '../logs/storage-metrics.ts';
import type { Realtime } from '../realtime/realtime.ts';
import type { DataHome } from '../storage/data-home.ts';
import { BacklogCounter } from '../deliveries/log/backlog.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { webhookMetrics } from '../dispatch/webhook-metrics.ts';
import { type InstanceCounts, RequestCounts } from './request-counts.ts';
import { requestMetrics } from './request-metrics.ts';

/** How many instances are named by each of the metrics of instances: those with the largest values. */
export const instancesMax = 20;
/** How long those who ask wait for the backlog to be counted; then they are told what is known. */
const countingMs = 1_000;

export interface MetricSources {
  readonly data: {
    readonly home: Pick<DataHome, 'counts' | 'control' | 'health'>;
    readonly directory: InstanceDirectory;
    readonly instances: OpenInstances;
    readonly wakeUp: WakeUp;
  };
  readonly dispatcher: Dispatcher;
  readonly realtime: Realtime;
  readonly version: string;
  readonly logger: Logger;
}

/** The metrics of this process, which are gathered from its parts when somebody asks. */
export class ServiceMetrics {
  /** Of requests, which the server counts. */
  readonly requests = new RequestCounts();
  readonly #sources: MetricSources;
  readonly #backlog: BacklogCounter;
  #metrics: Promise<Metrics> | undefined;
  #connections = 0;
  #server: Server | undefined;

  constructor(sources: MetricSources) {
    this.#sources = sources;
    const { dispatcher, data } = sources;
    this.#backlog = new BacklogCounter({
      instances: () => dispatcher.workingInstances(),
      borrow: (id) => data.instances.borrowOpen(id),
      clock: systemClock,
      logger: sources.logger,
    });
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
    await atMost(countingMs, Promise.all([this.#backlog.refresh(), this.#countConnections()]));
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
    const { data, dispatcher, realtime, version } = this.#sources;
    const { home, wakeUp } = data;
    const labels = { version, engine: home.control.engine };
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
      ...storageMetrics(home.counts, home.health),
      ...webhookMetrics({ dispatcher, backlog: this.#backlog, events: () => wakeUp.events }),
      single(
        { name: 'chancery_realtime_connections', type: 'gauge', help: 'Realtime connections.' },
        () => realtime.connections,
      ),
      single(
        {
          name: 'chancery_realtime_messages_total',
          type: 'counter',
          help: 'Messages that were sent to realtime connections.',
        },
        () => realtime.messages,
      ),
      ...this.#ofInstances(),
    ];
  }

  #ofInstances(): readonly Metric[] {
    const { directory, instances } = this.#sources.data;
    return [
      single(
        { name: 'chancery_instances', type: 'gauge', help: 'Instances that there are.' },
        () => directory.all().length,
      ),
      single(
        { name: 'chancery_instances_open', type: 'gauge', help: 'Instances whose files are open.' },
        () => instances.openCount,
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
      {
        name: 'chancery_instance_backlog',
        type: 'gauge',
        help: `Deliveries that wait to be sent, of the ${instancesMax} instances with most of them.`,
        samples: () =>
          topOf([...this.#backlog.backlogs.values()].map(({ slug, waiting }) => [slug, waiting])),
      },
    ];
  }

  #countsBySlug(
    read: (counts: InstanceCounts) => number,
  ): readonly (readonly [slug: string, count: number])[] {
    const { directory } = this.#sources.data;
    return [...this.requests.instances].flatMap(([id, counts]) => {
      const entry = directory.find(id);
      // It was deleted.
      if (entry === undefined) this.requests.instances.delete(id);
      return entry === undefined ? [] : [[entry.slug, read(counts)] as const];
    });
  }
}

/** The largest of these, named by the slug of their instance. */
function topOf(values: readonly (readonly [slug: string, value: number])[]): readonly Sample[] {
  return values
    .filter(([, value]) => value > 0)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, instancesMax)
    .map(([slug, value]) => ({ labels: { slug }, value }));
}

async function atMost(delayMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, delayMs)));
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
