import { assert } from '../base/assert.ts';
import { busy } from '../base/errors.ts';
import { systemClock } from '../base/clock.ts';
import type { LongTurn } from '../base/turn-meter.ts';
import type { Logger } from '../base/logger.ts';
import type { Cidr } from '../base/ip-address.ts';
import type { Config } from '../config/config.ts';
import type { Answer } from '../http/answer.ts';
import { clientAddress, type ClientTraces } from '../http/client-address.ts';
import type { InstanceHost } from '../http/host/instance-host.ts';
import type { LoggedRequest } from '../http/host/log-request.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { InstanceRoute } from '../http/route.ts';
import type { InstanceEntry } from '../instances/instance-directory.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { StorageFault } from '../storage/storage-health.ts';
import type { MetricMessage } from './host-messages.ts';
import { HostThread, type HostThreadOptions } from './host-thread.ts';
import { Quarantine } from './quarantine.ts';

/** Parts of the threads that tests replace. */
export type ThreadParts = Pick<HostThreadOptions, 'file' | 'heapMbMax'>;

export interface HostPoolOptions extends ThreadParts {
  readonly config: Config;
  readonly threads: number;
  /** Of answers in memory, of all hosts together. */
  readonly memoryBytes: number;
  /** How many attempts of webhooks all hosts may have open. */
  readonly slotsMax: number;
  readonly logger: Logger;
  readonly onClosed: HostThreadOptions['onClosed'];
  /** Writes the metrics of the whole process. */
  readonly write: () => Promise<Exposition>;
}

/**
 * Runs instances in threads: each is placed on one of them at a time, and opened nowhere else. An instance that keeps its thread from turning
 * again and again is moved to a thread apart (quarantine.ts).
 */
export class HostPool implements InstanceHost {
  readonly #threads: readonly HostThread[];
  readonly #newThread: (place: number) => HostThread;
  readonly #placements = new Map<string, HostThread>();
  /** Instances that are being moved. */
  readonly #moves = new Map<string, Promise<void>>();
  readonly #quarantine: Quarantine;
  readonly #logger: Logger;
  readonly #proxies: readonly Cidr[];
  /** The thread for instances that are run apart; undefined while there are none. */
  #apart: HostThread | undefined;

  constructor({ threads, memoryBytes, slotsMax, ...options }: HostPoolOptions) {
    const shares = {
      memoryBytes: Math.floor(memoryBytes / threads),
      slotsMax: Math.max(slotsMin, Math.floor(slotsMax / threads)),
    };
    const onLongTurn = (turn: LongTurn): void => this.#noteLongTurn(turn);
    this.#logger = options.logger;
    this.#proxies = options.config.trustedProxies;
    this.#newThread = (place) => new HostThread({ ...options, ...shares, onLongTurn, place });
    this.#threads = Array.from({ length: threads }, (_, place) => this.#newThread(place));
    const noteFailure = (instance: string) => (error: unknown) =>
      this.#logger.error('An instance could not be moved.', { instance, error });
    this.#quarantine = new Quarantine({
      clock: systemClock,
      isolate: (id) => void this.#isolate(id).catch(noteFailure(id)),
      readmit: (id) => void this.#readmit(id).catch(noteFailure(id)),
    });
  }

  /** Rejects when a host cannot be opened; then all are ended. */
  async opened(): Promise<void> {
    try {
      await Promise.all(this.#threads.map((thread) => thread.opened));
    } catch (error) {
      await this.stop();
      throw error;
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

  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void {
    this.#placements.get(entry.id)?.logRefusal(entry, request, error);
  }

  addressBefore(entry: InstanceEntry | null, traces: ClientTraces): Uint8Array {
    const host = entry === null ? undefined : this.#placements.get(entry.id);
    const settings = entry === null ? undefined : host?.trustedProxyOf(entry.id);
    if (settings === undefined) return traces.peer;
    return clientAddress(traces, { proxies: this.#proxies, settings });
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

  async stopSending(): Promise<void> {
    await Promise.all(this.#all.map((thread) => thread.stopSending()));
  }

  async stop(): Promise<void> {
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
  async move(instanceId: string, to: HostThread | number): Promise<void> {
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

  get #all(): readonly HostThread[] {
    return this.#apart === undefined ? this.#threads : [...this.#threads, this.#apart];
  }

  /** At first use, an instance goes to the host with the fewest requests, or else the fewest instances. */
  #hostOf(id: string): HostThread {
    const before = this.#placements.get(id);
    if (before !== undefined) return before;
    const least = this.#leastLoaded();
    this.#placements.set(id, least);
    least.place([id]);
    return least;
  }

  #leastLoaded(): HostThread {
    const [least] = this.#threads.toSorted(
      (a, b) => a.waitingCount - b.waitingCount || a.placedCount - b.placedCount,
    );
    assert(least !== undefined, 'a pool has threads');
    return least;
  }

  #noteLongTurn({ instance, ms, instanceMs }: LongTurn): void {
    // Who has little part in it is not to blame.
    if (instanceMs * 2 > ms) this.#quarantine.note(instance);
  }

  async #isolate(id: string): Promise<void> {
    const from = this.#placements.get(id);
    // Alone, it keeps nobody waiting.
    if (from === undefined || from.placedCount < 2) return;
    this.#apart ??= this.#newThread(this.#threads.length);
    await this.#apart.opened;
    await this.move(id, this.#apart);
    this.#logger.warn('An instance is run apart from the others, as its turns took long.', { instance: id });
  }

  async #readmit(id: string): Promise<void> {
    if (this.#apart === undefined || this.#placements.get(id) !== this.#apart) return;
    await this.move(id, this.#leastLoaded());
    this.#logger.info('An instance is run among the others again.', { instance: id });
    if (this.#apart.placedCount > 0) return;
    const empty = this.#apart;
    this.#apart = undefined;
    await empty.stopSending();
    await empty.stop();
  }
}

/** With fewer, the shares of instances and endpoints would be of less than one attempt. */
const slotsMin = 16;
