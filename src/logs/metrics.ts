import { collectDefaultMetrics, type Metric as ClientMetric, Registry } from 'prom-client';
import { Histogram } from '../base/histogram.ts';
import type { Metric, Sample } from './metric.ts';

/** What Prometheus is answered. */
export interface Exposition {
  /** For `Content-Type`. */
  readonly type: string;
  readonly text: string;
}

/** Those of the process: its processor time, memory, open files, event loop. All services that run in it share them. */
const ofProcess = new Registry();
let isProcessCounted = false;

/** Writes metrics as Prometheus reads them. The library does the text, and counts the process; all other counts are read from where they are. */
export class Metrics {
  readonly #registry = new Registry();
  #writing: Promise<Exposition> | undefined;

  constructor(metrics: readonly Metric[]) {
    if (!isProcessCounted) collectDefaultMetrics({ register: ofProcess });
    isProcessCounted = true;
    for (const metric of metrics) this.#registry.registerMetric(toClientMetric(metric));
  }

  /** Reads all metrics. Concurrent callers share one reading. */
  write(): Promise<Exposition> {
    return (this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    }));
  }

  async #write(): Promise<Exposition> {
    const texts = [await this.#registry.metrics(), await ofProcess.metrics()];
    return { type: this.#registry.contentType, text: texts.join('\n') };
  }
}

/** What the library writes of a metric. */
interface Written {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly WrittenValue[];
}

interface WrittenValue {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

function toClientMetric({ name, help, type, samples }: Metric): ClientMetric {
  const get = (): Promise<Written> =>
    Promise.resolve({ name, help, type, values: samples().flatMap((sample) => valuesOf(name, sample)) });
  // A registry uses only the name and `get` of a metric; its own classes cannot take over counts from elsewhere.
  return { name, help, type, get } as unknown as ClientMetric;
}

function valuesOf(name: string, { labels = {}, value }: Sample): readonly WrittenValue[] {
  if (!(value instanceof Histogram)) return [{ labels, value }];
  let count = 0;
  const buckets = [...value.counts].map((ofClass, index) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le: value.bounds[index] ?? '+Inf' },
    value: (count += ofClass),
  }));
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: value.sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
