import { setTimeout as delay } from 'node:timers/promises';
import { assert } from '../base/assert.ts';
import { busy } from '../base/errors.ts';
import { systemClock } from '../base/clock.ts';
import type { LongTurn } from '../base/turn-meter.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { Answer } from '../http/answer.ts';
import type { ClientTraces } from '../http/client-address.ts';
import type { InstanceHost } from '../http/host/instance-host.ts';
import type { LoggedRequest } from '../http/host/log-request.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { InstanceRoute } from '../http/route.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { StorageFault } from '../storage/storage-health.ts';
import type { HostMember } from './host-member.ts';
import type { MetricMessage } from './host-messages.ts';
import { HostThread, type HostThreadOptions } from './host-thread.ts';
import { Quarantine } from './quarantine.ts';

/** Parts of the threads that tests replace. */
export type ThreadParts = Pick<HostThreadOptions, 'file' | 'heapMbMax'>;

export interface HostPoolOptions extends ThreadParts {
  readonly config: Config;
  readonly threads: number;
  /** Runs the instances until a second one is used; without it, threads do so from the beginning. */
  readonly own?: HostMember | undefined;
  /** Of answers in memory, of all hosts together. */
  readonly memoryBytes: number;
  /** How many attempts of webhooks all hosts may have open. */
  readonly slotsMax: number;
  readonly logger: Logger;
  readonly onClosed: HostThreadOptions['onClosed'];
  readonly onLongTurn: HostThreadOptions['onLongTurn'];
  /** Called before an instance is run by a thread for the first time. */
  readonly onThreads: () => void;
  /** Writes the metrics of the whole process. */
  readonly write: () => Promise<Exposition>;
}

/**
 * Runs instances in threads: each is placed on one of them at a time, and opened nowhere else. An instance that keeps its thread from turning
 * again and again is moved to a thread apart (quarantine.ts). While there is one instance that is used, this thread can run it: the threads
 * are started with the second.
 */
export class HostPool implements InstanceHost {
  readonly #own: HostMember | undefined;
  #threads: readonly HostThread[] = [];
  /** Whether instances are placed on threads. */
  #isThreaded = false;
  readonly #threadsMax: number;
  readonly #newThread: (place: number) => HostThread;
  readonly #placements = new Map<string, HostMember>();
  /** Instances that are being moved. */
  readonly #moves = new Map<string, Promise<void>>();
  readonly #quarantine: Quarantine;
  readonly #logger: Logger;
  readonly #onThreads: () => void;
  #isStopping = false;
  /** The thread for instances that are run apart; undefined while there are none. */
  #apart: HostThread | undefined;

  constructor({ threads, memoryBytes, slotsMax, own, onThreads, ...options }: HostPoolOptions) {
    const shares = {
      memoryBytes: Math.floor(memoryBytes / threads),
      slotsMax: Math.max(slotsMin, Math.floor(slotsMax / threads)),
    };
    this.#own = own;
    this.#threadsMax = threads;
    this.#logger = options.logger;
    this.#onThreads = onThreads;
    this.#newThread = (place) => new HostThread({ ...options, ...shares, place });
    this.#quarantine = new Quarantine({
      clock: systemClock,
      isolate: (id) => this.#isolate(id),
      readmit: (id) => this.#orLog(id, this.#readmit(id)),
    });
  }

  /** Begins to run instances. Rejects when a thread cannot be opened; then all are ended. */
  async open(): Promise<void> {
    if (this.#own !== undefined) return;
    try {
      await this.#openThreads();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async #openThreads(): Promise<void> {
    this.#threads = Array.from({ length: this.#threadsMax }, (_, place) => this.#newThread(place));
    await Promise.all(this.#threads.map((thread) => thread.opened));
    this.#onThreads();
    this.#isThreaded = true;
  }

  /** Has instances run by threads from now on. Until these are open, and for good where they cannot be, this thread runs all of them. */
  async #moveToThreads(own: HostMember): Promise<void> {
    try {
      await this.#openThreads();
    } catch {
      // The threads have logged why.
      await Promise.all(this.#threads.map((thread) => thread.stop()));
      this.#threads = [];
      return;
    }
    this.#logger.debug('Threads run the instances from now on, as there are several.', {
      threads: this.#threadsMax,
    });
    while (own.placedCount > 0 && !this.#isStopping) {
      for (const [id, host] of this.#placements) if (host === own) await this.move(id, this.#leastLoaded());
      // One that its thread could not hand over stays a little longer.
      if (own.placedCount > 0) await delay(moveAgainMs, undefined, { ref: false });
    }
  }

  isPlaced(instanceId: string): boolean {
    return this.#placements.has(instanceId);
  }

  /** Has what is due in an instance done. */
  wake(instanceId: string): void {
    // A move wakes it where it goes.
    if (!this.#moves.has(instanceId)) this.#hostOf(instanceId).place([instanceId]);
  }

  /** Opens an instance. Throws unavailable where it cannot be opened now. */
  async visit(entry: InstanceEntry): Promise<void> {
    await this.#moves.get(entry.id);
    if (!(await this.#hostOf(entry.id).visit(entry))) throw busy();
  }

  async serve(route: InstanceRoute, request: InstanceRequest): Promise<Answer> {
    const { id } = request.entry;
    const move = this.#moves.get(id);
    if (move !== undefined) await move;
    return this.#hostOf(id).serve(route, request);
  }

  async release(instanceId: string): Promise<void> {
    await this.#moves.get(instanceId);
    const host = this.#placements.get(instanceId);
    if (host === undefined) return;
    if (!(await host.leave(instanceId))) throw busy();
    this.#placements.delete(instanceId);
  }

  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void {
    this.#placements.get(entry.id)?.logRefusal(entry, request, error);
  }

  addressBefore(entry: InstanceEntry | null, traces: ClientTraces): Uint8Array {
    const host = entry === null ? undefined : this.#placements.get(entry.id);
    return host?.addressBefore(entry, traces) ?? traces.peer;
  }

  async frameAncestors(entry: InstanceEntry): Promise<readonly string[]> {
    await this.#moves.get(entry.id);
    return this.#hostOf(entry.id).frameAncestors(entry);
  }

  /** Of the host of an instance, or of any host where none is named. */
  faultOf(instance: string | undefined): StorageFault | undefined {
    const own = instance === undefined ? undefined : this.#placements.get(instance);
    const hosts = own === undefined ? this.#all : [own];
    return hosts.map((host) => host.faultOf(instance)).find((fault) => fault !== undefined);
  }

  /** The instances that are run apart from the others. */
  get isolated(): readonly string[] {
    return this.#quarantine.instances;
  }

  /** Whether threads run instances. */
  get isThreaded(): boolean {
    return this.#isThreaded;
  }

  async stopSending(): Promise<void> {
    await Promise.all(this.#all.map((thread) => thread.stopSending()));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#quarantine.stop();
    await Promise.all(this.#all.map((thread) => thread.stop()));
  }

  /** Reads the counts of all hosts. */
  async metrics(): Promise<readonly (readonly MetricMessage[])[]> {
    return Promise.all(this.#all.map((thread) => thread.metrics()));
  }

  /**
   * Moves an instance to another thread. New requests wait for the few milliseconds that it takes; those that are running end where they are. It
   * stays where it is while its host cannot hand it over.
   */
  async move(instanceId: string, to: HostMember | number): Promise<void> {
    const target = typeof to === 'number' ? this.#threads[to] : to;
    const from = this.#placements.get(instanceId);
    if (target === undefined || from === undefined || from === target || this.#moves.has(instanceId)) return;
    const move = (async () => {
      if (!(await from.leave(instanceId))) return;
      this.#placements.set(instanceId, target);
      target.place([instanceId]);
    })();
    this.#moves.set(instanceId, move);
    await move.finally(() => this.#moves.delete(instanceId));
  }

  get #all(): readonly HostMember[] {
    return [this.#own, ...this.#threads, this.#apart].filter((host) => host !== undefined);
  }

  /** At first use, an instance goes to the host with the fewest requests, or else the fewest instances. */
  #hostOf(id: string): HostMember {
    const before = this.#placements.get(id);
    if (before !== undefined) return before;
    const own = this.#isThreaded ? undefined : this.#own;
    const host = own ?? this.#leastLoaded();
    this.#placements.set(id, host);
    host.place([id]);
    if (own !== undefined && own.placedCount > 1 && this.#threads.length === 0)
      this.#orLog(id, this.#moveToThreads(own));
    return host;
  }

  #leastLoaded(): HostThread {
    const [least] = this.#threads.toSorted(
      (a, b) => a.waitingCount - b.waitingCount || a.placedCount - b.placedCount,
    );
    assert(least !== undefined, 'a pool has threads');
    return least;
  }

  /** Notes a turn that kept the other instances of its thread waiting. */
  noteLongTurn({ instance, ms, instanceMs }: LongTurn): void {
    // Who has little part in it is not to blame.
    if (instanceMs * 2 > ms) this.#quarantine.note(instance);
  }

  #isolate(id: string): boolean {
    const from = this.#placements.get(id);
    // Alone, it keeps nobody waiting. Where no thread is open yet, those that are being opened part them.
    if (from === undefined || from.placedCount < 2 || !this.#isThreaded) return false;
    this.#orLog(id, this.#runApart(id));
    return true;
  }

  async #runApart(id: string): Promise<void> {
    this.#apart ??= this.#newThread(this.#threadsMax);
    await this.#apart.opened;
    await this.move(id, this.#apart);
    this.#logger.warn('An instance was moved to a thread of its own after long turns.', { instance: id });
  }

  async #readmit(id: string): Promise<void> {
    if (this.#apart === undefined || this.#placements.get(id) !== this.#apart) return;
    await this.move(id, this.#leastLoaded());
    this.#logger.info('An instance was moved back to a shared thread.', { instance: id });
    if (this.#apart.placedCount > 0) return;
    const empty = this.#apart;
    this.#apart = undefined;
    await empty.stopSending();
    await empty.stop();
  }

  #orLog(instance: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#logger.error('An instance could not be moved.', { instance, error });
    });
  }
}

/** How soon an instance is moved again that could not be handed over. */
const moveAgainMs = 1_000;
/** With fewer, the shares of instances and endpoints would be of less than one attempt. */
const slotsMin = 16;
