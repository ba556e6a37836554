import {
  type Beside,
  ledgerRun,
  type LedgerRunResult,
  type LedgerWorld,
} from '../faults/ledger/ledger-run.ts';
import { type Bounds, bounds, checkBounds, type Usage, usageOf } from './bounds.ts';
import { Readers } from './readers.ts';
import { type Sample, Sampler } from './sampler.ts';

export interface SoakOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly seed: number;
  readonly durationMs: number;
  /** What the service may use; default `bounds`. */
  readonly limits?: Bounds;
  readonly onSample?: (sample: Sample) => void;
}

export interface SoakResult extends LedgerRunResult {
  readonly samples: readonly Sample[];
  /** Undefined where there are too few samples. */
  readonly usage: Usage | undefined;
  /** Pages that readers got, and messages that realtime clients got. */
  readonly reads: number;
  readonly messages: number;
  /** Requests of readers for which the service was too busy. */
  readonly refused: number;
}

/** One kill in so many milliseconds of the first half, and one at least. */
const lifeMs = 150_000;
const samplesCount = 240;
const sampleMsMin = 500;

/** Runs a service under mixed load with faults, samples what it uses, and balances the ledger of its webhooks at the end. */
export async function soakRun({
  engine,
  seed,
  durationMs,
  limits = bounds,
  onSample,
}: SoakOptions): Promise<SoakResult> {
  const half = durationMs / 2;
  const kills = Math.max(1, Math.round(half / lifeMs));
  const everyMs = Math.max(sampleMsMin, durationMs / samplesCount);
  const [lifeMin, lifeMax] = [Math.round((half / kills) * 0.7), Math.round((half / kills) * 1.3)];
  let samples: readonly Sample[] = [];
  let quietMs = 0;
  let counts = { reads: 0, messages: 0, refused: 0 };
  const beside = (world: LedgerWorld): Beside => {
    const sampler = new Sampler(world, { everyMs, onSample });
    const readers = new Readers(world, seed);
    const startMs = performance.now();
    sampler.start();
    readers.start();
    return {
      stop: () => {
        // The last server has lived for this long, however long those before it did.
        quietMs = performance.now() - startMs - half;
        return readers.stop();
      },
      end: async () => {
        samples = await sampler.stop();
        const { reads, messages, refused } = readers;
        counts = { reads, messages, refused };
        return readers.violations;
      },
    };
  };
  const result = await ledgerRun({
    engine,
    seed,
    kills,
    lifeMs: [lifeMin, lifeMax],
    lastLifeMs: half,
    beside,
  });
  const usage = usageOf(samples, { quietMs, drainMs: result.drainMs });
  const violations = [...result.violations, ...checkBounds(usage, limits)];
  return { ...result, ...counts, violations, usage, samples };
}
