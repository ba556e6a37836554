/** Whose share of something scarce a request takes. */
export interface Share {
  /** Id of the instance. */
  readonly instance: string;
  /** The client's address or network, in any form that is the same for all of its requests; empty for work of the service itself. */
  readonly address: string;
  /** Aborted when the result is no longer needed. */
  readonly signal?: AbortSignal | undefined;
}

export interface LineLimits {
  readonly waitingMax: number;
  readonly waitingOfInstanceMax: number;
  readonly waitingOfAddressMax: number;
}

interface InstanceLine<Item> {
  count: number;
  /** Waiting items by address, the oldest first; the address whose turn is next comes first. */
  readonly addresses: Map<string, Item[]>;
}

/**
 * Items that wait for something scarce. Instances take turns, and so do the addresses within an instance. Where the line is full, the
 * newest item of the client with the most is evicted for one with fewer: a flood displaces only itself.
 */
export class FairLine<Item> {
  readonly #limits: LineLimits;
  /** The instance whose turn is next comes first. */
  readonly #instances = new Map<string, InstanceLine<Item>>();
  #length = 0;

  constructor(limits: LineLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds an item. Returns the evicted item: this one, another one, or undefined. */
  add({ instance, address }: Share, item: Item): Item | undefined {
    const line = this.#instances.get(instance);
    const own = line?.addresses.get(address)?.length ?? 0;
    const { waitingMax, waitingOfInstanceMax, waitingOfAddressMax } = this.#limits;
    if (own >= waitingOfAddressMax) return item;
    let displaced: Item | undefined;
    if (line !== undefined && line.count >= waitingOfInstanceMax) {
      const [longest, items] = longestOf(line);
      if (items.length < own + 2) return item;
      displaced = this.#take(instance, longest, items.length - 1);
    } else if (this.#length >= waitingMax) {
      const [longest, other] = this.#largest();
      if (other.count < (line?.count ?? 0) + 2) return item;
      const [key, items] = longestOf(other);
      displaced = this.#take(longest, key, items.length - 1);
    }
    this.#push(instance, address, item);
    return displaced;
  }

  /** Takes the item whose turn it is, of those instances that are ready. */
  next(isReady: (instance: string, item: Item) => boolean = () => true): Item | undefined {
    for (const [instance, line] of this.#instances) {
      const [[address, items] = ['', []]] = line.addresses;
      const [item] = items;
      if (item === undefined || !isReady(instance, item)) continue;
      // Behind all others, as an instance and as an address; taking the last one removes them.
      this.#instances.delete(instance);
      this.#instances.set(instance, line);
      line.addresses.delete(address);
      line.addresses.set(address, items);
      return this.#take(instance, address, 0);
    }
    return undefined;
  }

  /** Removes an item. Does nothing if it does not wait. */
  remove({ instance, address }: Share, item: Item): void {
    const at = this.#instances.get(instance)?.addresses.get(address)?.indexOf(item) ?? -1;
    if (at !== -1) this.#take(instance, address, at);
  }

  /** Yields the item of each instance whose turn is next. */
  *first(): Generator<Item> {
    for (const { addresses } of this.#instances.values())
      for (const [item] of addresses.values()) {
        if (item !== undefined) yield item;
        break;
      }
  }

  #push(instance: string, address: string, item: Item): void {
    const line = this.#instances.get(instance) ?? { count: 0, addresses: new Map<string, Item[]>() };
    const items = line.addresses.get(address) ?? [];
    items.push(item);
    line.addresses.set(address, items);
    line.count += 1;
    this.#instances.set(instance, line);
    this.#length += 1;
  }

  #take(instance: string, address: string, at: number): Item | undefined {
    const line = this.#instances.get(instance);
    const items = line?.addresses.get(address);
    const [item] = items?.splice(at, 1) ?? [];
    if (line === undefined || items === undefined || item === undefined) return undefined;
    this.#length -= 1;
    line.count -= 1;
    if (items.length === 0) line.addresses.delete(address);
    if (line.count === 0) this.#instances.delete(instance);
    return item;
  }

  #largest(): readonly [instance: string, line: InstanceLine<Item>] {
    let largest: readonly [string, InstanceLine<Item>] = ['', { count: 0, addresses: new Map() }];
    for (const entry of this.#instances) if (entry[1].count > largest[1].count) largest = entry;
    return largest;
  }
}

function longestOf<Item>({ addresses }: InstanceLine<Item>): readonly [address: string, items: Item[]] {
  let longest: readonly [string, Item[]] = ['', []];
  for (const entry of addresses) if (entry[1].length > longest[1].length) longest = entry;
  return longest;
}
