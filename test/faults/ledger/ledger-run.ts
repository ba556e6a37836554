import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startTestPostgres } from '../../support/postgres.ts';
import { crashPoints, seldomCrashPoints } from '../crash-points.ts';
import { readTakeovers } from '../postgres-state.ts';
import { Random } from '../random.ts';
import { checkCursors, checkLedger, type Kill, type LedgerFigures } from './check-ledger.ts';
import { DyingServers, type Death } from './dying-servers.ts';
import { countWaiting, keyOf, readLedger, type LedgerState } from './ledger-state.ts';
import { Owner } from './owners.ts';
import { prepareLedger, type LedgerInstance } from './prepare-ledger.ts';
import { Receivers } from './receivers.ts';
import { OpenLoopWriters } from './writers.ts';

export interface LedgerRunOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly seed: number;
  readonly kills: number;
  readonly instances?: number;
  /** Of each instance. */
  readonly endpoints?: number;
  /** To each instance. */
  readonly writesPerSecond?: number;
  /** Whether instances are run by threads and moved between them all the time; kills come at random times only. */
  readonly isMoving?: boolean;
  /** The shortest and the longest life of a server, in milliseconds; kills come at random times only. */
  readonly lifeMs?: readonly [min: number, max: number];
  /** How long the last server lives before the writers stop, in milliseconds; default 0. */
  readonly lastLifeMs?: number;
  /** Begins what goes on beside the writers. */
  readonly beside?: (world: LedgerWorld) => Beside;
}

/** What there is to be used and watched while a round goes on. */
export interface LedgerWorld {
  readonly servers: Pick<DyingServers, 'url' | 'pids'>;
  readonly instances: readonly Pick<LedgerInstance, 'slug' | 'place'>[];
  /** The data folder, which is empty where a database is used. */
  readonly data: string;
  /** Of an operator who may read metrics. */
  readonly metricsKey: string;
  /** Returns how many writes were acknowledged. */
  readonly acknowledged: () => number;
}

export interface Beside {
  /** Called when the writers have stopped, before what waits is sent. */
  stop(): Promise<void>;
  /** Called once nothing waits any more, before the servers stop. Returns what should not be. */
  end(): Promise<readonly string[]>;
}

export interface LedgerRunResult extends LedgerFigures {
  readonly violations: readonly string[];
  readonly kills: number;
  /** Those of the kills that came at a named point. */
  readonly atPoints: number;
  /** Of instances between threads. */
  readonly moves: number;
  readonly acknowledged: number;
  /** Writes without an answer, whatever came of them. */
  readonly unknown: number;
  /** What owners did by hand. */
  readonly byHand: number;
  /** From the time when all receivers were well until nothing waited. */
  readonly drainMs: number;
}

/** Without fewer deliveries that wait. No measure of speed: only what never ends must fail. Probes come at most twenty-five seconds apart within a round. */
const drainMsMax = 240_000;
const pointMsMax = 3_000;
const hitMax = 25;
const resumedShare = 0.6;

/** One round: writers, owners and receivers of all kinds, servers that are killed, an end in peace, and the balance of the ledger. */
export async function ledgerRun(options: LedgerRunOptions): Promise<LedgerRunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-receivers-'));
  const receivers = new Receivers(join(folder, 'journal'));
  const database =
    options.engine === 'postgres'
      ? await startTestPostgres({ settings: ['max_connections=150'] })
      : undefined;
  try {
    const postgres = await database?.createDatabase();
    const round = await Round.prepare(options, { receivers, postgres });
    const result = await round.run();
    // What has failed is kept to be looked at.
    if (result.violations.length === 0) round.remove();
    else console.error(`kept: ${round.data} and ${folder}`);
    if (result.violations.length === 0) rmSync(folder, { recursive: true });
    return result;
  } finally {
    await receivers.stop();
    await database?.stop();
  }
}

interface Means {
  readonly receivers: Receivers;
  readonly postgres: string | undefined;
}

interface Party {
  readonly instance: LedgerInstance;
  readonly writers: OpenLoopWriters;
  readonly owner: Owner;
  readonly kills: Kill[];
}

class Round {
  readonly data: string;
  readonly #options: LedgerRunOptions;
  readonly #means: Means;
  readonly #metricsKey: string;
  readonly #random: Random;
  readonly #servers: DyingServers;
  readonly #parties: readonly Party[];
  readonly #violations: string[] = [];
  #atPoints = 0;

  private constructor(
    options: LedgerRunOptions,
    means: Means,
    {
      random,
      prepared,
    }: { readonly random: Random; readonly prepared: Awaited<ReturnType<typeof prepareLedger>> },
  ) {
    this.#options = options;
    this.#means = means;
    this.#random = random;
    this.data = prepared.data;
    this.#metricsKey = prepared.metricsKey;
    const part = (): Random => new Random(random.integer(0, 2 ** 31));
    const addSecret = (receiver: string, secret: string): Promise<void> =>
      means.receivers.addSecret(receiver, secret);
    const servers = new DyingServers(
      {
        data: prepared.data,
        postgres: means.postgres,
        isMoving: options.isMoving === true,
        mayBeBusy: options.beside !== undefined,
      },
      part(),
    );
    this.#servers = servers;
    this.#parties = prepared.instances.map((instance) => {
      const url = (): string | undefined => {
        const found = servers.url();
        return found === undefined ? undefined : `${found}/i/${instance.slug}`;
      };
      const { slug: name, apiKey: key, endpoints, spare } = instance;
      const perSecond = options.writesPerSecond ?? 30;
      return {
        instance,
        writers: new OpenLoopWriters({ url, name, perSecond, random: part() }),
        owner: new Owner({ url, key, endpoints, spare, random: part(), addSecret }),
        kills: [],
      };
    });
  }

  static async prepare(options: LedgerRunOptions, means: Means): Promise<Round> {
    const random = new Random(options.seed);
    const { instances = 2, endpoints = 8 } = options;
    const prepared = await prepareLedger({ ...means, instances, endpoints, random });
    return new Round(options, means, { random, prepared });
  }

  remove(): void {
    rmSync(this.data, { recursive: true, force: true });
  }

  async run(): Promise<LedgerRunResult> {
    const { receivers } = this.#means;
    const servers = this.#servers;
    const deaths = Array.from({ length: this.#options.kills }, (_, index) => this.#deathOf(index));
    try {
      // Of two nodes one may die early: the other has to take over.
      if (this.#options.engine === 'postgres') await servers.start();
      await servers.start(deaths[0]?.plan);
      await receivers.begin();
      for (const { writers, owner } of this.#parties) {
        writers.start();
        owner.start();
      }
      const beside = this.#options.beside?.(this.#world());
      for (const [index, death] of deaths.entries()) await this.#kill(death, deaths[index + 1]);
      await wait(this.#options.lastLifeMs ?? 0);
      for (const { writers, owner } of this.#parties) await Promise.all([writers.stop(), owner.stop()]);
      await beside?.stop();
      const drainMs = await this.#drain();
      this.#violations.push(...((await beside?.end()) ?? []));
      await servers.stop();
      return { ...(await this.#check()), drainMs };
    } finally {
      await servers.kill();
    }
  }

  #world(): LedgerWorld {
    const instances = this.#parties.map(({ instance }) => instance);
    const acknowledged = (): number => this.#count('acknowledged');
    return {
      servers: this.#servers,
      instances,
      data: this.data,
      metricsKey: this.#metricsKey,
      acknowledged,
    };
  }

  /** Half of them at random times, half at named points in turn. */
  #deathOf(index: number): Death {
    const { lifeMs = [50, 1_200], isMoving = false } = this.#options;
    const afterMs = this.#random.integer(...lifeMs);
    const hit = this.#random.integer(1, hitMax);
    const points = [...crashPoints, ...seldomCrashPoints];
    const point = points[(Math.floor(index / 2) + this.#options.seed * 5) % points.length];
    const isAtRandom = isMoving || this.#options.lifeMs !== undefined;
    if (isAtRandom || index % 2 === 0 || point === undefined) return { afterMs, plan: undefined };
    const isSeldom = seldomCrashPoints.some((seldom) => seldom === point);
    return { afterMs: pointMsMax, plan: { point, hit: isSeldom ? 1 + (hit % 3) : hit } };
  }

  async #kill(death: Death, next: Death | undefined): Promise<void> {
    const { receivers } = this.#means;
    if (await this.#servers.die(death)) this.#atPoints += 1;
    const lines = await receivers.mark(this.#servers);
    for (const { instance, kills } of this.#parties) {
      const stored = await readLedger(instance.place);
      kills.push({ lines, attempts: attemptsOf(stored) });
      if (stored.integrity !== 'ok') this.#violations.push(`${instance.slug}: ${stored.integrity}`);
      checkCursors(stored, (text) => void this.#violations.push(`${instance.slug}, after a kill: ${text}`));
    }
    if (!(await this.#servers.start(next?.plan))) this.#atPoints += 1;
  }

  async #drain(): Promise<number> {
    const startMs = performance.now();
    await this.#means.receivers.heal();
    // An endpoint that has failed for long is probed every few minutes: for that nobody waits.
    const isResumed = this.#random.unit() < resumedShare || this.#options.lastLifeMs !== undefined;
    for (const { owner } of this.#parties) await owner.heal({ isResumed });
    let least = Infinity;
    let progressMs = startMs;
    while (performance.now() - progressMs < drainMsMax) {
      const countMs = performance.now();
      let waiting = 0;
      for (const { instance } of this.#parties) waiting += await countWaiting(instance.place);
      if (waiting === 0) break;
      if (waiting < least) progressMs = performance.now();
      least = Math.min(least, waiting);
      // Counting a large log takes a processor that the service needs.
      await wait(Math.max(100, 4 * (performance.now() - countMs)));
    }
    return performance.now() - startMs;
  }

  #count(outcome: 'acknowledged' | 'unknown'): number {
    return this.#parties.reduce(
      (sum, { writers }) => sum + writers.writes.filter((write) => write.outcome === outcome).length,
      0,
    );
  }

  async #check(): Promise<Omit<LedgerRunResult, 'drainMs'>> {
    const { receivers, postgres } = this.#means;
    const received = receivers.receipts();
    const figures: LedgerFigures[] = [];
    const violations = [...this.#violations, ...this.#servers.violations];
    for (const { instance, writers, owner, kills } of this.#parties) {
      const { slug, endpoints, id, place } = instance;
      const { cancelled } = owner;
      const takeovers = postgres === undefined ? [] : await readTakeovers(postgres, id, new Set());
      const receipts = received.filter(({ receiver }) => receiver.startsWith(`${slug} `));
      const stored = await readLedger(place);
      const evidence = { writes: writers.writes, endpoints, cancelled, receipts, kills, takeovers, stored };
      const found = checkLedger(evidence);
      figures.push(found.figures);
      violations.push(...[...found.violations, ...owner.violations].map((text) => `${slug}: ${text}`));
    }
    const byHand = this.#parties.flatMap(({ owner }) => Object.values(owner.counts));
    return {
      violations,
      kills: this.#options.kills,
      atPoints: this.#atPoints,
      moves: this.#servers.moves,
      acknowledged: this.#count('acknowledged'),
      unknown: this.#count('unknown'),
      byHand: byHand.reduce((sum, one) => sum + one, 0),
      ...addFigures(figures),
    };
  }
}

function attemptsOf({ events, endpoints, outcomes, deliveries }: LedgerState): ReadonlyMap<string, number> {
  const eventIds = new Map(events.map(({ position, id }) => [position, id]));
  const endpointIds = new Map(endpoints.map(({ number, id }) => [number, id]));
  return new Map(
    deliveries.map((delivery) => [
      `${eventIds.get(delivery.event)}-${endpointIds.get(delivery.endpoint)}`,
      outcomes.get(keyOf(delivery))?.attempts ?? 0,
    ]),
  );
}

/** The sums of all of them. */
export function addFigures(all: readonly LedgerFigures[]): LedgerFigures {
  const sum = (figure: keyof LedgerFigures): number => all.reduce((total, one) => total + one[figure], 0);
  return {
    events: sum('events'),
    deliveries: sum('deliveries'),
    delivered: sum('delivered'),
    waiting: sum('waiting'),
    exhausted: sum('exhausted'),
    cancelled: sum('cancelled'),
    attempts: sum('attempts'),
    receipts: sum('receipts'),
    duplicates: sum('duplicates'),
    inFlightAtKills: sum('inFlightAtKills'),
    resent: sum('resent'),
  };
}
