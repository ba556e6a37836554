/**
 * Why data cannot be written or read as it should be: the disk is full, read-only or fails; something stored is damaged; or the database
 * is away.
 */
export const storageFaults = ['disk', 'damage', 'unavailable'] as const;

export type StorageFault = (typeof storageFaults)[number];

/** How often failed places are probed. */
const probeIntervalMs = 1_000;

export interface StorageHealthOptions {
  /** Returns the storage fault behind an error; undefined for any other error. */
  readonly faultOf: (error: unknown) => StorageFault | undefined;
  /** Writes something small, for places without a probe of their own. Rejects while that fails. */
  readonly probe: () => Promise<void>;
  /** Damage counts as over after this long without new reports, where a whole place cannot be searched. */
  readonly damageMs?: number;
}

/** Called when damage is found in a place that counted as whole. */
export type DamageListener = (place: string, error: unknown) => void;

/**
 * The current faults of the storage, by place: an instance's id, '' for the shared data, or `filesPlace`. A place is noted when
 * something fails there. It is well again when its probe, a small write, succeeds; damage is over only when a search has gone
 * through the whole place and calls `noteWhole`.
 */
export class StorageHealth {
  /** How often each has been met. */
  readonly failures: Record<StorageFault, number> = { disk: 0, damage: 0, unavailable: 0 };
  /** How many searches for damage have ended in each way. */
  readonly checks = { whole: 0, damaged: 0, failed: 0 };
  /** When everything was looked through for the last time, in milliseconds since 1970; 0 for never. */
  checkedAt = 0;
  readonly #options: StorageHealthOptions;
  readonly #places: Readonly<Record<StorageFault, Set<string>>> = {
    disk: new Set(),
    damage: new Set(),
    unavailable: new Set(),
  };
  readonly #probes = new Map<string, () => Promise<void>>();
  readonly #forgetting = new Map<string, NodeJS.Timeout>();
  #onDamage: DamageListener = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: StorageHealthOptions) {
    this.#options = options;
  }

  /**
   * The first of `storageFaults` that concerns an instance: a disk that fails anywhere, and faults of the shared data or of its own
   * place. Damage in another instance does not count.
   */
  faultFor(instance: string | undefined): StorageFault | undefined {
    return faultAmong(this.#places, instance);
  }

  /** The places that have each fault. */
  get places(): FaultyPlaces {
    return this.#places;
  }

  /** The number of places that have this fault. */
  count(fault: StorageFault): number {
    return this.#places[fault].size;
  }

  get damagedPlaces(): readonly string[] {
    return [...this.#places.damage];
  }

  onDamage(listener: DamageListener): void {
    this.#onDamage = listener;
  }

  /** Tries this place by its own small write from now on, until the returned function is called. */
  addProbe(place: string, probe: () => Promise<void>): () => void {
    this.#probes.set(place, probe);
    return () => {
      if (this.#probes.get(place) === probe) this.#probes.delete(place);
    };
  }

  /** Notes an error of a place, if it is a fault of the storage. */
  note(place: string, error: unknown): void {
    const fault = this.#options.faultOf(error);
    if (fault === undefined) return;
    this.failures[fault] += 1;
    const isNew = !this.#places[fault].has(place);
    this.#places[fault].add(place);
    if (fault !== 'damage') {
      this.#probeLater();
      return;
    }
    this.#forgetLater(place);
    if (isNew) this.#onDamage(place, error);
  }

  /** Notes that everything in a place was looked at, and nothing is damaged. */
  noteWhole(place: string): void {
    this.#places.damage.delete(place);
    this.#forgetting.delete(place);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const timer of this.#forgetting.values()) clearTimeout(timer);
    await this.#probing;
  }

  #forgetLater(place: string): void {
    const { damageMs } = this.#options;
    if (damageMs === undefined) return;
    clearTimeout(this.#forgetting.get(place));
    this.#forgetting.set(place, setTimeout(() => this.noteWhole(place), damageMs).unref());
  }

  #probeLater(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#probing = this.#probeAll().finally(() => {
        this.#timer = undefined;
        if (this.#failing.length > 0) this.#probeLater();
      });
    }, probeIntervalMs).unref();
  }

  get #failing(): readonly string[] {
    return [...new Set([...this.#places.disk, ...this.#places.unavailable])];
  }

  /** The first place that still fails ends the round: with thousands of instances on a full disk, each try would cost a failed write. */
  async #probeAll(): Promise<void> {
    for (const place of this.#failing) {
      const { disk, unavailable } = this.#places;
      try {
        await (this.#probes.get(place) ?? this.#options.probe)();
      } catch {
        // After the others: the fault may be this one's alone.
        for (const places of [disk, unavailable]) if (places.delete(place)) places.add(place);
        return;
      }
      disk.delete(place);
      unavailable.delete(place);
    }
  }
}

/** The place of the files of records. */
export const filesPlace = 'files';

/** The places that have each fault: an instance's id, `''` for the shared data, or that of files. */
export type FaultyPlaces = Readonly<Record<StorageFault, ReadonlySet<string>>>;

/** See {@link StorageHealth.faultFor}. */
export function faultAmong(faulty: FaultyPlaces, instance: string | undefined): StorageFault | undefined {
  const concerned = ['', filesPlace, instance ?? ''];
  return storageFaults.find((fault) => {
    const places = faulty[fault];
    return fault === 'disk' ? places.size > 0 : concerned.some((place) => places.has(place));
  });
}
