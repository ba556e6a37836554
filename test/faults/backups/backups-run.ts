import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Ended, MainProcess } from '../../support/main-process.ts';
import { startTestPostgres } from '../../support/postgres.ts';
import { DyingServers } from '../ledger/dying-servers.ts';
import { Receivers } from '../ledger/receivers.ts';
import { environment } from '../prepare-instances.ts';
import { Random } from '../random.ts';
import { BackupClient } from './backup-client.ts';
import { BackupWriters } from './backup-writers.ts';
import {
  type BackupMade,
  checkDeliveries,
  checkRecords,
  checkSwap,
  checkWrites,
  isAcknowledged,
  type KnownWorld,
  lostBy,
  repeatReason,
} from './check-worlds.ts';
import { members, type PreparedBackups, prepareBackups } from './prepare-backups.ts';
import { ServiceWatch } from './service-watch.ts';
import { deliveryKey, readInstances, readWorld, type World, type WorldsPlace } from './worlds.ts';

export interface BackupsRunOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly seed: number;
  readonly rounds: number;
  /** Restores that are cut off have to wait for a lease: a smoke test has few. */
  readonly killShare?: number;
}

export interface BackupsRunResult {
  readonly violations: readonly string[];
  readonly rounds: number;
  /** Backups that were made, and restores that are in force. */
  readonly backups: number;
  readonly restores: number;
  /** Backups and restores that were refused or cut off, and left all as it was. */
  readonly undone: number;
  readonly kills: number;
  readonly acknowledged: number;
  /** Acknowledged writes that restores have lost, as they say. */
  readonly lost: number;
  readonly receipts: number;
  /** Deliveries that were taken once more after a kill, and after a restore for each of the reasons of `repeatReason`. */
  readonly repeatedByKills: number;
  readonly repeatedInFlight: number;
  readonly repeatedUnknown: number;
  /** For how long a running server has answered with 503 at a time, in milliseconds. */
  readonly outages: readonly number[];
}

/** The lease of a job, and as much again for a slow machine. */
const freeMsMax = 60_000;
/** The lease, and what the service takes to notice that it is over. */
const leaseMsMax = 35_000;
const drainMsMax = 240_000;
const workMsMax = { backup: 700, restore: 4_000 } as const;

/** Writers, receivers that fail at times, backups and restores by request and by command, and processes that are killed meanwhile. */
export async function backupsRun(options: BackupsRunOptions): Promise<BackupsRunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-receivers-'));
  const receivers = new Receivers(join(folder, 'journal'));
  const database = options.engine === 'postgres' ? await startTestPostgres() : undefined;
  try {
    const postgres = await database?.createDatabase();
    const random = new Random(options.seed);
    const prepared = await prepareBackups(receivers, { random, postgres });
    const run = new Run(options, { receivers, random, prepared, postgres });
    const result = await run.run();
    // What has failed is kept to be looked at.
    if (result.violations.length > 0) console.error(`kept: ${prepared.data} and ${folder}`);
    else for (const path of [prepared.data, folder]) rmSync(path, { recursive: true, force: true });
    return result;
  } finally {
    await receivers.stop();
    await database?.stop();
  }
}

interface Means {
  readonly receivers: Receivers;
  readonly random: Random;
  readonly prepared: PreparedBackups;
  readonly postgres: string | undefined;
}

type Kind = 'backup' | 'restore';

/** What is done in a round. */
interface Step {
  readonly kind: Kind;
  readonly name: string;
  readonly isCommand: boolean;
  /** Who is killed, so long after the beginning. */
  readonly kill: { readonly who: 'server' | 'command'; readonly afterMs: number } | undefined;
}

/** Whether it was done, as whoever asked for it was told; undefined when it was cut off. */
type Outcome = boolean | undefined;

class Run {
  readonly #options: BackupsRunOptions;
  readonly #means: Means;
  readonly #place: WorldsPlace;
  readonly #random: Random;
  readonly #servers: DyingServers;
  readonly #writers: BackupWriters;
  readonly #client: BackupClient;
  readonly #watch: ServiceWatch;
  readonly #violations: string[] = [];
  readonly #backups: BackupMade[] = [];
  /** Replaced instances, by their ids, and when that was known. */
  readonly #replaced = new Map<string, number>();
  /** How often deliveries may be taken once more. */
  readonly #allowed = {
    kill: new Map<string, number>(),
    inFlight: new Map<string, number>(),
    unknown: new Map<string, number>(),
  };
  readonly #counts = { restores: 0, undone: 0, kills: 0, lost: 0 };
  #current = '';
  #round = 0;

  constructor(options: BackupsRunOptions, means: Means) {
    const { random, prepared, postgres } = means;
    const part = (): Random => new Random(random.integer(0, 2 ** 31));
    this.#options = options;
    this.#means = means;
    this.#random = random;
    this.#place = { data: prepared.data, postgres };
    this.#servers = new DyingServers(this.#place, part());
    const url = (): string | undefined => this.#servers.url();
    this.#writers = new BackupWriters({ url, random: part() });
    this.#client = new BackupClient(url, prepared.apiKey);
    this.#watch = new ServiceWatch(url);
  }

  async run(): Promise<BackupsRunResult> {
    const { receivers } = this.#means;
    try {
      this.#current = await this.#findCurrent();
      await this.#servers.start();
      await this.#client.signIn();
      await this.#client.ask('POST', '/api/collections', members);
      await receivers.begin();
      this.#writers.start();
      this.#watch.start();
      for (; this.#round < this.#options.rounds; this.#round += 1) await this.#playRound();
      await this.#writers.stop();
      await this.#drain();
      await this.#watch.stop();
      await this.#servers.stop();
      await this.#checkEnd();
      return this.#result();
    } finally {
      await Promise.all([this.#writers.stop(), this.#watch.stop()]);
      await this.#servers.kill();
    }
  }

  async #playRound(): Promise<void> {
    await wait(this.#random.integer(0, 1_000));
    await this.#client.readFeed();
    const step = this.#draw();
    const startMs = performance.now();
    const before = await this.#read(this.#current);
    const outcome = await this.#play(step);
    await this.#untilFree();
    if (step.kind === 'backup') await this.#noteBackup(step, { startMs, outcome, before });
    else await this.#noteRestore(step, outcome);
  }

  #draw(): Step {
    const backup = this.#random.pick(this.#backups);
    const isRestore = this.#random.unit() < 0.5 && backup !== undefined;
    const kind = isRestore ? 'restore' : 'backup';
    const isCommand = this.#random.unit() < 0.4;
    const isKilled = this.#random.unit() < (this.#options.killShare ?? 0.4);
    const who = isCommand && this.#random.unit() < 0.5 ? 'command' : 'server';
    // A command has to start first.
    const afterMs = this.#random.integer(0, workMsMax[kind]) + (isCommand ? 600 : 0);
    const name = isRestore ? backup.name : `b${this.#round}.zip`;
    return { kind, name, isCommand, kill: isKilled ? { who, afterMs } : undefined };
  }

  async #play(step: Step): Promise<Outcome> {
    const { isCommand, kill } = step;
    const command = isCommand ? this.#startCommand(step) : undefined;
    const ended = command === undefined ? this.#request(step) : command.ended.then(outcomeOf);
    if (kill !== undefined) {
      const timer = new AbortController();
      await Promise.race([
        ended,
        wait(kill.afterMs, undefined, { signal: timer.signal }).catch(() => undefined),
      ]);
      timer.abort();
      this.#counts.kills += 1;
      if (kill.who === 'command') command?.kill('SIGKILL');
      else await this.#killServer();
    }
    return ended;
  }

  #startCommand({ kind, name }: Step): MainProcess {
    const { data, postgres } = this.#place;
    const args = kind === 'backup' ? ['create', 'default', '--name', name] : ['restore', 'default', name];
    const place = ['--data', data, ...(postgres === undefined ? [] : ['--postgres', postgres])];
    return new MainProcess(['backup', ...args, ...place], postgres === undefined ? {} : environment);
  }

  async #request({ kind, name }: Step): Promise<Outcome> {
    const path = kind === 'backup' ? '/api/backups' : `/api/backups/${name}/restore`;
    const { status, text } = await this.#client.ask('POST', path, kind === 'backup' ? { name } : undefined);
    if (status === 400 && text.includes('Try again later')) return false;
    if (status === 204) return true;
    if (status >= 400 && status < 500) this.#report(`${kind} of ${name} was answered with ${status} ${text}`);
    return undefined;
  }

  async #killServer(): Promise<void> {
    const { receivers } = this.#means;
    await this.#servers.die({ afterMs: 0 });
    await receivers.mark(this.#servers);
    // A restore may have been over already.
    const { delivered } = await this.#read(await this.#findCurrent());
    for (const key of this.#taken().keys()) if (!delivered.has(key)) add(this.#allowed.kill, key);
    await this.#servers.start();
  }

  /** Waits until the instance is served and has no job: one that was cut off is held by its lease. */
  async #untilFree(): Promise<void> {
    const startMs = performance.now();
    for (;;) {
      const { status, json } = await this.#client.ask('GET', '/api/backups/status');
      const instances = await readInstances(this.#place);
      const isReplacing = instances.some(({ state }) => state === 'replacing');
      if (status === 200 && json.running === null && !isReplacing) return;
      if (performance.now() - startMs > freeMsMax)
        throw new Error(`the instance does not become free: ${status} ${JSON.stringify([json, instances])}`);
      await wait(50);
    }
  }

  async #noteBackup(
    { name }: Step,
    {
      startMs,
      outcome,
      before,
    }: { readonly startMs: number; readonly outcome: Outcome; readonly before: World },
  ): Promise<void> {
    const made = {
      name,
      source: this.#current,
      startMs,
      endMs: performance.now(),
      delivered: before.delivered,
    };
    const list = await this.#client.ask('GET', '/api/backups');
    const isThere = list.text.includes(`"${name}"`);
    if (list.status !== 200) this.#report(`the list of backups was answered with ${list.status}`);
    if (outcome === true && !isThere) this.#report(`the backup ${name} was made, and is not there`);
    if (isThere) this.#backups.push(made);
    else this.#counts.undone += 1;
  }

  async #noteRestore({ name }: Step, outcome: Outcome): Promise<void> {
    const now = await this.#findCurrent();
    const backup = this.#backups.find((one) => one.name === name);
    if (now === this.#current || backup === undefined) {
      if (outcome === true) this.#report(`the restore of ${name} was answered, and is not in force`);
      this.#counts.undone += 1;
      return;
    }
    if (outcome === false) this.#report(`the restore of ${name} was refused, and is in force`);
    this.#counts.restores += 1;
    const replacedId = this.#current;
    this.#replaced.set(replacedId, performance.now());
    this.#current = now;
    const [restored, old] = [await this.#read(now), await this.#read(replacedId)];
    const source = backup.source === replacedId ? old : await this.#read(backup.source);
    const swap = { old, restored, source, backup };
    const report = (text: string): void => this.#report(`after the restore of ${name}: ${text}`);
    checkSwap(swap, this.#writers.writes, report);
    checkRecords(restored, report);
    checkRecords(old, report);
    const { after } = lostBy(swap);
    this.#counts.lost += old.events.filter(({ position }) => position > after).length;
    const sinceMs = (await readInstances(this.#place)).find(({ id }) => id === replacedId)?.sinceMs ?? 0;
    for (const key of this.#taken(sinceMs).keys()) {
      const reason = repeatReason(swap, key);
      if (reason !== undefined) add(this.#allowed[reason], key);
    }
    await this.#client.checkRestored(restored, this.#writers.writes, report);
    await this.#client.checkFiles(restored, report);
  }

  async #drain(): Promise<void> {
    await this.#means.receivers.heal();
    const { json } = await this.#client.ask('GET', '/api/webhooks/endpoints');
    // The next probe may be minutes away.
    for (const { id } of json.items) await this.#client.ask('POST', `/api/webhooks/endpoints/${id}/resume`);
    const startMs = performance.now();
    while ((await this.#read(this.#current)).waiting > 0) {
      if (performance.now() - startMs > drainMsMax) return;
      await wait(200);
    }
  }

  async #checkEnd(): Promise<void> {
    const worlds: KnownWorld[] = [];
    for (const { id } of await readInstances(this.#place)) {
      const replacedMs = this.#replaced.get(id);
      if (id !== this.#current && replacedMs === undefined) continue;
      worlds.push({ world: await this.#read(id), replacedMs });
    }
    const report = (text: string): void => this.#report(`at the end: ${text}`);
    checkWrites(this.#writers.writes, worlds, report);
    const { receivers } = this.#means.prepared;
    const taken = this.#taken();
    const world = await this.#read(this.#current);
    checkRecords(world, report);
    const allowed = (key: string): number =>
      Object.values(this.#allowed).reduce((total, counts) => total + (counts.get(key) ?? 0), 0);
    checkDeliveries(world, { receivers, taken, allowed }, report);
    for (const ms of this.#watch.outages)
      if (ms > leaseMsMax) report(`it was not served for ${Math.round(ms)} ms`);
  }

  #result(): BackupsRunResult {
    const { writes } = this.#writers;
    return {
      violations: [...this.#violations, ...this.#servers.violations.filter(isUnexpected)],
      rounds: this.#round,
      backups: this.#backups.length,
      ...this.#counts,
      ...this.#countRepeats(),
      acknowledged: writes.filter(({ status }) => isAcknowledged(status)).length,
      receipts: this.#means.receivers.receipts().length,
      outages: this.#watch.outages,
    };
  }

  /** A repetition that several reasons allow is counted as one of a restore. */
  #countRepeats(): Pick<BackupsRunResult, 'repeatedByKills' | 'repeatedInFlight' | 'repeatedUnknown'> {
    const counts = { repeatedByKills: 0, repeatedInFlight: 0, repeatedUnknown: 0 };
    for (const [key, count] of this.#taken()) {
      const inFlight = Math.min(count - 1, this.#allowed.inFlight.get(key) ?? 0);
      const unknown = Math.min(count - 1 - inFlight, this.#allowed.unknown.get(key) ?? 0);
      counts.repeatedInFlight += inFlight;
      counts.repeatedUnknown += unknown;
      counts.repeatedByKills += count - 1 - inFlight - unknown;
    }
    return counts;
  }

  /** How often each delivery was taken by its receiver, up to a time. */
  #taken(untilMs = Infinity): ReadonlyMap<string, number> {
    const taken = new Map<string, number>();
    for (const { answer, atMs, eventId, receiver } of this.#means.receivers.receipts())
      if (answer === 'success' && atMs <= untilMs) add(taken, deliveryKey(eventId, receiver));
    return taken;
  }

  /** Returns the id of the instance that has the slug. */
  async #findCurrent(): Promise<string> {
    const found = (await readInstances(this.#place)).find(({ slug }) => slug === 'default');
    if (found === undefined) throw new Error('there is no instance in place');
    return found.id;
  }

  #read(id: string): Promise<World> {
    return readWorld(this.#place, id);
  }

  #report(text: string): void {
    this.#violations.push(`round ${this.#round}: ${text}`);
  }
}

/** While a backup takes the place of the instance, a server logs that it has told clients to come again. */
function isUnexpected(violation: string): boolean {
  const [, log = violation] = /^a server logged: (.*)$/s.exec(violation) ?? [];
  const expected = /^[^\n]*The instance is being restored from a backup\.[^\n]*$/gm;
  return log.replaceAll(expected, '').trim() !== '';
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function outcomeOf({ code, stdout }: Ended): Outcome {
  if (code === 0) return true;
  return stdout.includes('Try again later') ? false : undefined;
}
