import { setTimeout as wait } from 'node:timers/promises';
import type { LedgerWorld } from '../faults/ledger/ledger-run.ts';
import { Random } from '../faults/random.ts';
import { Follower } from '../faults/realtime/follower.ts';

/** Of each instance. */
const readersPerInstance = 3;
const followersPerInstance = 2;
const pauseMsMax = 60;
const answerMsMax = 30_000;
const busy = 503;

/** Clients that list, search, view and follow the records of all instances while servers come and go. */
export class Readers {
  readonly violations: string[] = [];
  reads = 0;
  /** Requests for which the service was too busy. */
  refused = 0;
  readonly #world: LedgerWorld;
  readonly #random: Random;
  #followers: Follower[] = [];
  #reading: Promise<void>[] = [];
  #isOver = false;

  constructor(world: LedgerWorld, seed: number) {
    this.#world = world;
    this.#random = new Random(seed);
  }

  /** Messages that realtime clients got. */
  get messages(): number {
    return this.#followers.reduce((sum, { told }) => sum + told.length, 0);
  }

  start(): void {
    for (const { slug } of this.#world.instances) {
      const url = (): string | undefined => {
        const found = this.#world.servers.url();
        return found === undefined ? undefined : `${found}/i/${slug}`;
      };
      for (let index = 0; index < readersPerInstance; index += 1) this.#reading.push(this.#read(url));
      for (let index = 0; index < followersPerInstance; index += 1)
        this.#followers.push(new Follower(url, undefined));
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#reading, ...this.#followers.map((follower) => follower.stop())]);
  }

  async #read(url: () => string | undefined): Promise<void> {
    while (!this.#isOver) {
      await wait(this.#random.integer(1, pauseMsMax));
      const base = url();
      if (base === undefined) continue;
      const path = `/api/collections/posts/records${this.#draw()}`;
      const status = await statusOf(base + path);
      // 0: its server has died.
      if (status === busy) this.refused += 1;
      else if (status !== 0 && status !== 200)
        this.violations.push(`GET ${path} was answered with ${status}`);
      if (status === 200) this.reads += 1;
    }
  }

  #draw(): string {
    const number = this.#random.integer(1, 2_000);
    return (
      this.#random.pick([
        '?perPage=30',
        '?perPage=30&skipTotal=1&sort=-title',
        `?perPage=100&page=${1 + (number % 5)}`,
        `?filter=${encodeURIComponent(`title ~ '-${number}'`)}`,
        `?filter=${encodeURIComponent(`title = 'ledger-0-${number}'`)}&fields=id,title`,
      ]) ?? ''
    );
  }
}

async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
