import { setTimeout as sleep } from 'node:timers/promises';
import { type Load, runLoad } from './support/load.ts';
import { type BenchOptions, warmUpsOf } from './support/options.ts';
import { percentile } from './support/percentile.ts';
import { report, verdictOf } from './support/report.ts';
import { sampleRecord } from './support/sample-record.ts';
import { type Service, startService } from './support/service.ts';
import { startVictim, type Victim } from './support/victim.ts';

const connections = 50;
const path = '/api/collections/bench/records';
/** What the p99 beside a flood may be of that alone. */
const ratioMax = 1.25;

type Kind = 'view' | 'create';
const kinds = { view: 'views', create: 'creates' } as const satisfies Record<Kind, string>;
type Flood = (service: Service) => Promise<Omit<Load, 'seconds'>>;

/** What the clients of the loud instance ask, as fast as they are answered. */
const floods: Readonly<Record<string, Flood>> = {
  views: async ({ url, api }) => {
    const { id } = await api(path, sampleRecord(1));
    return { url: `${url}${path}/${String(id)}` };
  },
  lists: ({ url }) => Promise.resolve({ url: `${url}${path}?perPage=30` }),
  creates: ({ url }) =>
    Promise.resolve({ url: `${url}${path}`, method: 'POST', body: JSON.stringify(sampleRecord(2)) }),
};

/** Milliseconds of each request of the quiet instance. */
type Times = Record<Kind, number[]>;

interface Measured {
  readonly quiet: Times;
  /** While a service apart is flooded: the machine's part. */
  readonly foreign: Times;
  readonly busy: Times;
  /** Requests a second of the flood, of each run. */
  readonly rates: number[];
}

/**
 * How long do views and creates of one instance take while another one of the same service is flooded from 50 connections? Alone, while a
 * service of its own is flooded in the same way, and while its neighbour is, in turns. Nothing is pinned, and instances are run by threads as by default.
 */
export async function flood(options: BenchOptions): Promise<void> {
  const apart = await startService(undefined, options);
  const service = await startService(undefined, options);
  const victim = await startVictim(service);
  try {
    for (const [name, of] of Object.entries(floods)) {
      const [foreignLoad, load] = [await of(apart), await of(service)];
      const measured = noneYet();
      for (let run = -warmUpsOf(options); run < options.runs; run += 1) {
        const into = run < 0 ? noneYet() : measured;
        await measureInto(into.quiet, victim, () => sleep(options.seconds * 1_000));
        await measureInto(into.foreign, victim, () => runLoad(loadOf(foreignLoad, options)));
        const { perSecond } = await measureInto(into.busy, victim, () => runLoad(loadOf(load, options)));
        into.rates.push(perSecond);
      }
      for (const kind of ['view', 'create'] as const) tell({ name, kind, measured }, options);
    }
  } finally {
    await victim.stop();
    await service.stop();
    await apart.stop();
  }
}

function loadOf(load: Omit<Load, 'seconds'>, { seconds }: BenchOptions): Load {
  return { ...load, connections, seconds };
}

function noneYet(): Measured {
  const none = (): Times => ({ view: [], create: [] });
  return { quiet: none(), foreign: none(), busy: none(), rates: [] };
}

/** Adds the times of the quiet instance while something else goes on. */
async function measureInto<Result>(
  times: Times,
  victim: Victim,
  beside: () => Promise<Result>,
): Promise<Result> {
  await victim.begin();
  const result = await beside();
  const { view, create, refused } = await victim.end();
  if (refused > 0) throw new Error(`The quiet instance was refused ${refused} times.`);
  times.view.push(...view);
  times.create.push(...create);
  return result;
}

interface Result {
  readonly name: string;
  readonly kind: Kind;
  readonly measured: Measured;
}

function tell({ name, kind, measured }: Result, options: BenchOptions): void {
  const { quiet, foreign, busy, rates } = measured;
  const of = (times: Times): readonly [p50: number, p99: number] => [
    percentile(times[kind], 0.5),
    percentile(times[kind], 0.99),
  ];
  const [alone, beside, flooded] = [of(quiet), of(foreign), of(busy)];
  const ratio = flooded[1] / alone[1];
  const foreignRatio = beside[1] / alone[1];
  /** What is left to the service. */
  const ownRatio = flooded[1] / beside[1];
  const floodPerSecond = Math.round(rates.reduce((sum, rate) => sum + rate, 0) / rates.length);
  const text = (figures: readonly number[]): string => figures.map((ms) => ms.toFixed(1)).join('/');
  report(
    {
      what: `${kinds[kind]} beside a flood of ${name}`,
      figures: {
        quiet: alone,
        foreign: beside,
        busy: flooded,
        ratio,
        foreignRatio,
        ownRatio,
        floodPerSecond,
      },
      sentence:
        `p50/p99 ${text(alone)} ms alone, ${text(flooded)} beside ${floodPerSecond} a second: p99 × ${ratio.toFixed(2)}, ` +
        `${verdictOf(ratio, ratioMax)}; ${text(beside)} while another service is flooded: × ${foreignRatio.toFixed(2)}, of which the service adds × ${ownRatio.toFixed(2)}`,
    },
    options,
  );
}
