import { type InstanceEntry, type InstanceRow, isServed } from './instance-rows.ts';
import type { Quotas } from './quotas.ts';

/** Quotas, with a number that grows with each change of them. */
export interface StoredQuotas {
  readonly quotas: Quotas;
  readonly version: number;
}

interface IndexedRow extends Pick<InstanceRow, 'position' | 'change'> {
  readonly entry: InstanceEntry;
}

/** Called with the id of an instance whose quotas have changed. */
export type QuotaListener = (instanceId: string) => void;

/** Called when an instance becomes active, or is suspended or deleted. */
export type LifeListener = (instanceId: string, isActive: boolean) => void;

/** The instances that requests find, in memory, by what they are found by. */
export class InstanceIndex {
  /** The last change and the last position that it knows. */
  change = 0;
  position = 0;
  onQuotas: QuotaListener = () => undefined;
  readonly lifeListeners: LifeListener[] = [];
  readonly #byId = new Map<string, IndexedRow>();
  readonly #bySlug = new Map<string, InstanceEntry>();
  readonly #byHost = new Map<string, InstanceEntry>();
  #all: readonly InstanceEntry[] | undefined;

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): InstanceEntry | undefined {
    return this.#byId.get(id)?.entry;
  }

  /** Finds an instance by what it is known by. */
  findShown(shownId: string): InstanceEntry | undefined {
    const entry = this.find(shownId);
    // Only one that a restored backup has replaced is known by something else.
    return entry?.shownId === shownId ? entry : this.all().find((one) => one.shownId === shownId);
  }

  findBySlug(slug: string): InstanceEntry | undefined {
    return this.#bySlug.get(slug);
  }

  findByHost(host: string): InstanceEntry | undefined {
    return this.#byHost.get(host);
  }

  quotasOf(id: string): StoredQuotas {
    const row = this.#byId.get(id);
    return { quotas: row?.entry.quotas ?? {}, version: row?.change ?? 0 };
  }

  /** All of them, in the order of their creation. */
  all(): readonly InstanceEntry[] {
    this.#all ??= [...this.#byId.values()]
      .toSorted((one, other) => one.position - other.position)
      .map(({ entry }) => entry);
    return this.#all;
  }

  /** Follows a row. Listeners hear nothing of the life of one that is `isSilent`: nothing can be due in it yet. */
  apply(row: InstanceRow, { isSilent }: { readonly isSilent: boolean }): void {
    const { id, shownId, slug, host, created, state, quotas, key, position, change } = row;
    this.change = Math.max(this.change, change);
    this.position = Math.max(this.position, position);
    const before = this.find(id);
    if (before !== undefined) this.#take(before);
    if (isServed(state)) {
      const entry: InstanceEntry = { id, shownId, slug, host, created, state, quotas, key };
      this.#byId.set(id, { entry, position, change });
      this.#bySlug.set(slug, entry);
      if (host !== null) this.#byHost.set(host, entry);
      this.#all = undefined;
    }
    if (before !== undefined && JSON.stringify(before.quotas) !== JSON.stringify(quotas)) this.onQuotas(id);
    const isActive = state === 'active';
    if (isActive !== (before?.state === 'active') && !isSilent) this.#notify(id, isActive);
  }

  /** Removes all but these. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const { entry } of this.#byId.values()) {
      if (ids.has(entry.id)) continue;
      this.#take(entry);
      if (entry.state === 'active') this.#notify(entry.id, false);
    }
  }

  #take(entry: InstanceEntry): void {
    const { id, slug, host } = entry;
    this.#byId.delete(id);
    // Another instance may have them already.
    if (this.#bySlug.get(slug) === entry) this.#bySlug.delete(slug);
    if (host !== null && this.#byHost.get(host) === entry) this.#byHost.delete(host);
    this.#all = undefined;
  }

  #notify(id: string, isActive: boolean): void {
    for (const listener of this.lifeListeners) listener(id, isActive);
  }
}
