import type { Collection } from './collection.ts';

type Named = Pick<Collection, 'id' | 'name' | 'indexes' | 'type'>;

/**
 * The names, ids and indexes of an instance's collections: names that a definition may not reuse, and targets of its relations. Each
 * is found at once, or an import of many definitions would compare each with all others. Letter case is ignored, because the database
 * ignores it.
 */
export class CollectionNames {
  /** By name in lower case, the ids of the collections that have it: several, while an import is checked. */
  readonly #names = new Map<string, string[]>();
  readonly #ids = new Map<string, string[]>();
  readonly #indexes = new Map<string, string[]>();
  readonly #views = new Set<unknown>();

  constructor(collections: readonly Named[]) {
    for (const collection of collections) this.add(collection);
  }

  add({ id, name, indexes, type }: Named): void {
    if (type === 'view') this.#views.add(id);
    add(this.#names, name, id);
    add(this.#ids, id, id);
    for (const index of indexes) add(this.#indexes, index.name, id);
  }

  /** Removes one that was added. */
  remove({ id, name, indexes }: Named): void {
    this.#views.delete(id);
    remove(this.#names, name, id);
    remove(this.#ids, id, id);
    for (const index of indexes) remove(this.#indexes, index.name, id);
  }

  /** Whether a collection, other than the one with the id `exceptId`, has this name. */
  hasName(name: string, exceptId?: string): boolean {
    return has(this.#names, name, exceptId);
  }

  /** Whether a collection, other than the one with the id `exceptId`, has this id in any letter case. */
  hasId(id: string, exceptId?: string): boolean {
    return has(this.#ids, id, exceptId);
  }

  /** Whether a collection has exactly this id. */
  hasExactId(id: unknown): boolean {
    return typeof id === 'string' && this.#ids.get(id.toLowerCase())?.includes(id) === true;
  }

  /** Whether the collection with exactly this id is a view. */
  isView(id: unknown): boolean {
    return this.#views.has(id);
  }

  /** Whether a collection, other than the one with the id `exceptId`, has an index of this name. */
  hasIndex(name: string, exceptId?: string): boolean {
    return has(this.#indexes, name, exceptId);
  }
}

function add(ids: Map<string, string[]>, key: string, id: string): void {
  const lower = key.toLowerCase();
  const matches = ids.get(lower);
  if (matches === undefined) ids.set(lower, [id]);
  else matches.push(id);
}

function remove(ids: Map<string, string[]>, key: string, id: string): void {
  const lower = key.toLowerCase();
  const matches = ids.get(lower) ?? [];
  const at = matches.indexOf(id);
  if (at !== -1) matches.splice(at, 1);
  if (matches.length === 0) ids.delete(lower);
}

function has(
  ids: ReadonlyMap<string, readonly string[]>,
  key: string,
  exceptId: string | undefined,
): boolean {
  return ids.get(key.toLowerCase())?.some((id) => id !== exceptId) === true;
}
