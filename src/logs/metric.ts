import type { Histogram } from '../base/histogram.ts';

/**
 * A metric as Prometheus is shown it. Each part of the service counts in plain numbers of its own and lists its metrics; their values are read when
 * they are read (metrics.ts).
 */
export interface Metric {
  /** By the conventions of Prometheus: `chancery_…`, a base unit at the end, `_total` for what only grows. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One for each set of labels. Clients must not be able to make new ones. */
  readonly samples: () => readonly Sample[];
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  /** A Histogram for a metric of that type. */
  readonly value: number | Histogram;
}

/** A metric of one value. */
export function single(
  { name, type, help }: Pick<Metric, 'name' | 'type' | 'help'>,
  read: () => number | Histogram,
): Metric {
  return { name, type, help, samples: () => [{ value: read() }] };
}

/** A sample for each of these members, by a label. */
export function samplesOf(
  label: string,
  values: Readonly<Record<string, number | Histogram>>,
): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}
