import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { residentMb } from '../../bench/support/resident-mb.ts';
import type { LedgerWorld } from '../faults/ledger/ledger-run.ts';
import { Scrape } from '../support/exposition.ts';

/** What a service used at one moment; of several nodes the sum, or the largest where that is said. */
export interface Sample {
  /** Since the first sample, in milliseconds. */
  readonly atMs: number;
  readonly memoryMb: number;
  readonly descriptors: number;
  readonly logMb: number;
  /** Of the data folder; 0 where a database is used. */
  readonly dataMb: number;
  /** The longest turn of an event loop since the sample before, the largest of all nodes. */
  readonly turnMs: number;
  /** Deliveries that wait. */
  readonly backlog: number;
  /** Writes that were acknowledged so far. */
  readonly acknowledged: number;
}

export interface SamplerOptions {
  readonly everyMs: number;
  readonly onSample: ((sample: Sample) => void) | undefined;
}

/** Samples the processes of a run. While one is dead or begins, there is no sample. */
export class Sampler {
  readonly #world: LedgerWorld;
  readonly #options: SamplerOptions;
  readonly #samples: Sample[] = [];
  readonly #over = new AbortController();
  #sampling: Promise<void> = Promise.resolve();

  constructor(world: LedgerWorld, options: SamplerOptions) {
    this.#world = world;
    this.#options = options;
  }

  start(): void {
    this.#sampling = this.#run();
  }

  async stop(): Promise<readonly Sample[]> {
    this.#over.abort();
    await this.#sampling;
    return this.#samples;
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    const startMs = performance.now();
    while (!signal.aborted) {
      await wait(this.#options.everyMs, undefined, { signal }).catch(() => undefined);
      const sample = await this.#take(performance.now() - startMs).catch(() => undefined);
      if (sample === undefined) continue;
      this.#samples.push(sample);
      this.#options.onSample?.(sample);
    }
  }

  async #take(atMs: number): Promise<Sample> {
    const { servers, data, acknowledged, metricsKey } = this.#world;
    const pids = servers.pids();
    const url = servers.url();
    if (url === undefined) throw new Error('no server runs');
    const response = await fetch(`${url}/api/operator/metrics`, {
      headers: { authorization: `Bearer ${metricsKey}` },
    });
    if (!response.ok) throw new Error(`metrics were answered with ${response.status}`);
    const metrics = new Scrape(await response.text());
    return {
      atMs: Math.round(atMs),
      memoryMb: pids.reduce((sum, pid) => sum + residentMb(pid), 0),
      descriptors: pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
      logMb: roundedMb(metrics.of('chancery_webhook_log_bytes')),
      dataMb: data === '' ? 0 : roundedMb(folderBytes(data)),
      turnMs: Math.round(metrics.of('nodejs_eventloop_lag_max_seconds') * 1_000),
      backlog: metrics.of('chancery_webhook_backlog'),
      acknowledged: acknowledged(),
    };
  }
}

function roundedMb(bytes: number): number {
  return Math.round(bytes / 1e4) / 100;
}

function folderBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // Files come and go.
      return sum + (statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0);
    }, 0);
}
