import { Histogram } from '../base/histogram.ts';
import type { Logger } from '../base/logger.ts';
import type { InstanceMetrics } from '../http/service-metrics.ts';
import type { Metric, Sample } from '../logs/metric.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { HistogramMessage, MetricMessage, SampleMessage } from './host-messages.ts';

/** Returns what each host counts; nothing for one that cannot answer. */
export type ReadHosts = () => Promise<readonly (readonly MetricMessage[])[]>;

/** The metrics of instances in several hosts, added up. */
export class PoolMetrics implements InstanceMetrics {
  readonly list: readonly Metric[];
  readonly #read: ReadHosts;
  #latest: ReadonlyMap<string, readonly Sample[]>;

  private constructor(read: ReadHosts, first: readonly (readonly MetricMessage[])[]) {
    this.#read = read;
    this.#latest = addedUp(first);
    // All hosts have the same.
    this.list = (first[0] ?? []).map(({ name, help, type }) => ({
      name,
      help,
      type,
      samples: () => this.#latest.get(name) ?? [],
    }));
  }

  /** Reads once which metrics there are. */
  static async open(read: ReadHosts): Promise<PoolMetrics> {
    return new PoolMetrics(read, await read());
  }

  async refresh(): Promise<void> {
    this.#latest = addedUp(await this.#read());
  }
}

function addedUp(hosts: readonly (readonly MetricMessage[])[]): ReadonlyMap<string, readonly Sample[]> {
  const byName = Map.groupBy(hosts.flat(), ({ name }) => name);
  return new Map([...byName].map(([name, same]) => [name, sumOf(same.flatMap(({ samples }) => samples))]));
}

function sumOf(samples: readonly SampleMessage[]): readonly Sample[] {
  const byLabels = Map.groupBy(samples, ({ labels = {} }) => JSON.stringify(labels));
  return [...byLabels.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const { labels } = first;
    return [{ ...(labels && { labels }), value: sumOfValues(same.map(({ value }) => value)) }];
  });
}

function sumOfValues(values: readonly SampleMessage['value'][]): Sample['value'] {
  const histograms = values.filter((value) => typeof value !== 'number');
  const [first] = histograms;
  if (first === undefined) return values.reduce<number>((sum, value) => sum + Number(value), 0);
  return sumOfHistograms(first.bounds, histograms);
}

function sumOfHistograms(bounds: readonly number[], histograms: readonly HistogramMessage[]): Histogram {
  const sum = new Histogram(bounds);
  for (const histogram of histograms) {
    for (const [at, count] of histogram.counts.entries()) sum.counts[at] = (sum.counts[at] ?? 0) + count;
    sum.sum += histogram.sum;
  }
  return sum;
}

/** Returns undefined, and says so in the log, where they cannot be written. */
export async function writeOrLog({
  write,
  logger,
}: {
  readonly write: () => Promise<Exposition>;
  readonly logger: Logger;
}): Promise<Exposition | undefined> {
  try {
    return await write();
  } catch (error) {
    logger.error('Metrics could not be written.', { error });
    return undefined;
  }
}
