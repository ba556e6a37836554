import { AppError } from '../base/errors.ts';
import { decodeField, type Field, hasColumn } from '../fields/field.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Row, Transaction } from '../storage/database.ts';
import {
  type AuthOptions,
  type Collection,
  type CollectionType,
  defaultAuthOptions,
  lockedRules,
  type Rules,
  secretName,
  type ViewOptions,
} from './collection.ts';
import { withAccountFields } from './decode-fields.ts';
import { withAccountIndexes } from './decode-indexes.ts';
import { type IndexDefinition, indexToText, parseIndex } from './index-definition.ts';
import { alterTables, type TableChange } from './alter-tables.ts';
import { countRecords, uncountRecords } from './table-quotas.ts';
import { createTable, dropTable, type Fill } from './tables.ts';
import { createViews, dropViews, isShapeSame } from './views.ts';

/** Collections by name in any case, or by id. */
export type CollectionFinder = Pick<CollectionStore, 'find'> & {
  /** As that of a store; undefined for definitions that are not stored yet. */
  readonly version?: number;
};

export type Collections = CollectionFinder & Pick<CollectionStore, 'all'>;

/**
 * The collections of one instance, in memory, because every request needs one. They change there only after the commit of a
 * change, and changes run alone in their commit: the definitions that a transaction finds here match its tables.
 */
export class CollectionStore {
  #byId = new Map<string, Collection>();
  #byName = new Map<string, Collection>();
  static #lastVersion = 0;
  #version = (CollectionStore.#lastVersion += 1);

  static async load(reader: Reader): Promise<CollectionStore> {
    const store = new CollectionStore();
    await store.reload(reader);
    return store;
  }

  async reload(reader: Reader): Promise<void> {
    (await this.read(reader))();
  }

  /** Reads all stored definitions. The function that it returns puts them in the place of those in memory. */
  async read(reader: Reader): Promise<() => void> {
    const rows = await reader.all(
      sql`SELECT * FROM ${reader.names.table('$collection')} WHERE ${reader.names.instance.condition} ORDER BY position`,
    );
    const collections = rows.map((row) => this.#remembered(row) ?? fromRow(row));
    return () => {
      this.#byId.clear();
      this.#byName.clear();
      for (const collection of collections) this.#put(collection);
      this.#version = CollectionStore.#lastVersion += 1;
    };
  }

  /** By name in any case, or by id. */
  find(nameOrId: string): Collection | undefined {
    // Most callers write names as the definition does: the first look-up spares a copy in lower case.
    return this.#byName.get(nameOrId) ?? this.#byName.get(nameOrId.toLowerCase()) ?? this.#byId.get(nameOrId);
  }

  get(nameOrId: string): Collection {
    const collection = this.find(nameOrId);
    if (collection === undefined) throw new AppError('not_found', 'Missing collection context.');
    return collection;
  }

  /**
   * Another number after each change of any definition, and for each store of the process. A value that is derived from several definitions is
   * valid for one number.
   */
  get version(): number {
    return this.#version;
  }

  all(): readonly Collection[] {
    return [...this.#byId.values()];
  }

  create(tx: Transaction, collection: Collection, fill?: Fill): Promise<void> {
    return this.apply(tx, { created: [collection] }, fill);
  }

  update(tx: Transaction, before: Collection, after: Collection): Promise<void> {
    return this.apply(tx, { changed: [{ before, after }] });
  }

  delete(tx: Transaction, collection: Collection): Promise<void> {
    return this.apply(tx, { removed: [collection] });
  }

  /** Applies several changes at once, because names may pass from one collection to another. */
  async apply(tx: Transaction, changes: CollectionChanges, fill?: Fill): Promise<void> {
    const { removed = [], changed = [], created = [] } = changes;
    const views = this.#viewChanges(changes);
    await dropViews(tx, views.toDrop);
    const tables = { removed: removed.filter(isTable), created: created.filter(isTable) };
    const changedTables = changed.filter(({ after }) => isTable(after));
    for (const collection of tables.removed) await uncountRecords(tx, collection);
    for (const collection of removed) await remove(tx, collection);
    await updateDefinitions(tx, changed);
    await alterTables(tx, changedTables);
    for (const change of changedTables) await deleteLostValues(tx, change);
    for (const collection of created) await insert(tx, collection, fill);
    await countRecords(tx, { created: tables.created, changed: changedTables.map(({ after }) => after) });
    await createViews(tx, views.toCreate);
    tx.afterCommit(() => {
      for (const { id } of removed) this.#byId.delete(id);
      for (const { name } of [...removed, ...changed.map(({ before }) => before)]) {
        this.#byName.delete(name);
        this.#byName.delete(name.toLowerCase());
      }
      for (const collection of [...changed.map(({ after }) => after), ...created]) this.#put(collection);
      this.#version = CollectionStore.#lastVersion += 1;
    });
  }

  /** Makes all views again, from these definitions of them. */
  async remakeViews(tx: Transaction, changed: readonly TableChange[]): Promise<void> {
    const views = changed.map(({ after }) => after);
    await dropViews(tx, views);
    await updateDefinitions(tx, changed);
    await createViews(tx, views);
  }

  /** Views are made again where any collection is, as tables are altered without them. */
  #viewChanges({ removed = [], changed = [], created = [] }: CollectionChanges): {
    readonly toDrop: readonly Collection[];
    readonly toCreate: readonly Collection[];
  } {
    const present = this.all().filter((one) => !isTable(one));
    const isSame = removed.length === 0 && changed.every(({ before, after }) => isShapeSame(before, after));
    if (isSame) return { toDrop: [], toCreate: created.filter((one) => !isTable(one)) };
    const after = new Map(changed.map((change) => [change.before.id, change.after]));
    const remaining = present.filter((one) => !removed.includes(one)).map((one) => after.get(one.id) ?? one);
    return { toDrop: present, toCreate: [...remaining, ...created.filter((one) => !isTable(one))] };
  }

  /** Returns the object in memory where its definition has not changed, so that caches per definition stay valid. */
  #remembered(row: Row): Collection | undefined {
    const current = this.#byId.get(String(row['id']));
    const { name, updated } = current ?? {};
    const isSame = name === row['name'] && updated === row['updated'];
    return current && isSame && definitionText(current) === row['definition'] ? current : undefined;
  }

  #put(collection: Collection): void {
    this.#byId.set(collection.id, collection);
    this.#byName.set(collection.name, collection);
    this.#byName.set(collection.name.toLowerCase(), collection);
  }
}

export interface CollectionChanges {
  readonly removed?: readonly Collection[];
  readonly changed?: readonly TableChange[];
  readonly created?: readonly Collection[];
}

async function remove(tx: Transaction, { id, name, type }: Collection): Promise<void> {
  const { names } = tx;
  await tx.run(
    sql`DELETE FROM ${names.table('$collection')} WHERE ${names.instance.condition} AND id = ${id}`,
  );
  await tx.run(
    sql`DELETE FROM ${names.table('$secret')} WHERE ${names.instance.condition} AND collection = ${id}`,
  );
  if (type !== 'view') await dropTable(tx, name);
}

function isTable({ type }: Collection): boolean {
  return type !== 'view';
}

async function updateDefinitions(tx: Transaction, changes: readonly TableChange[]): Promise<void> {
  const table = tx.names.table('$collection');
  // Names are unique at every moment, so exchanged names are freed first.
  const renamed = changes.filter(({ before, after }) => before.name !== after.name);
  for (const { after } of renamed.length > 1 ? renamed : [])
    await tx.run(
      sql`UPDATE ${table} SET name = ${`$renaming_${after.id}`} WHERE ${tx.names.instance.condition} AND id = ${after.id}`,
    );
  for (const { after } of changes)
    await tx.run(sql`
      UPDATE ${table} SET name = ${after.name}, definition = ${definitionText(after)}, updated = ${after.updated}
      WHERE ${tx.names.instance.condition} AND id = ${after.id}`);
}

async function insert(tx: Transaction, collection: Collection, fill: Fill | undefined): Promise<void> {
  const { id, name, type, created, updated } = collection;
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$collection')} (${tx.names.instance.column}id, name, type, system, definition, created, updated)
    VALUES (${tx.names.instance.value}${id}, ${name}, ${type}, ${collection.system ? 1 : 0}, ${definitionText(collection)}, ${created}, ${updated})`);
  if (isTable(collection)) await createTable(tx, collection, fill);
}

async function deleteLostValues(tx: Transaction, { before, after }: TableChange): Promise<void> {
  for (const field of before.fields)
    if (!hasColumn(field) && !after.fields.some(({ id }) => id === field.id))
      await deleteValues(tx, after, field);
}

/** Deletes the values of a field that are kept apart from its collection's table. */
async function deleteValues(tx: Transaction, { id }: Collection, field: Field): Promise<void> {
  await tx.run(
    sql`DELETE FROM ${tx.names.table('$secret')} WHERE ${tx.names.instance.condition} AND collection = ${id} AND name = ${secretName(field)}`,
  );
}

/** The part of a collection that is stored as one JSON text. */
interface Definition {
  readonly rules: Rules;
  readonly fields: readonly unknown[];
  readonly indexes: readonly string[];
  readonly auth: StoredAuth | null;
  readonly view?: ViewOptions;
}

function definitionText(collection: Collection): string {
  const fields = collection.fields.map(({ options, ...common }) => ({ ...options, ...common }));
  const indexes = collection.indexes.map((index) => indexToText(index, collection.name));
  const { rules, auth = null, view } = collection;
  const definition: Definition = { rules, fields, indexes, auth, ...(view && { view }) };
  return JSON.stringify(definition);
}

/** Decodes a stored definition. It was checked before it was stored, so one that does not decode is damaged, and throws. */
function fromRow(row: Row): Collection {
  // Only definitionText above writes this column.
  const definition = JSON.parse(String(row['definition'])) as Definition;
  const collection: Collection = {
    id: String(row['id']),
    name: String(row['name']),
    // Only `insert` above writes this column.
    type: row['type'] as CollectionType,
    system: row['system'] === 1,
    rules: { ...lockedRules, ...definition.rules },
    fields: definition.fields.map(storedField),
    indexes: definition.indexes.map(storedIndex),
    auth: undefined,
    ...(definition.view && { view: definition.view }),
    created: String(row['created']),
    updated: String(row['updated']),
  };
  return definition.auth === null ? collection : storedAccount(collection, definition.auth);
}

function storedField(raw: unknown): Field {
  const problems: string[] = [];
  const field = decodeField(raw, {
    add: (name, error) => problems.push(`${name}: ${JSON.stringify(error)}`),
  });
  if (field === undefined || problems.length > 0)
    throw new Error(`stored field does not decode: ${problems.join(', ')}`);
  return field;
}

function storedIndex(text: string): IndexDefinition {
  const index = parseIndex(text);
  if (index === undefined) throw new Error(`stored index does not parse: ${text}`);
  return index;
}

/** Auth options as definitions store them. The second form is from before accounts existed, and was only used for superusers. */
type StoredAuth = AuthOptions | { readonly identityFields: readonly string[]; readonly tokenSeconds: number };

/** Returns an auth collection with all that such collections have gained since its definition was stored. */
function storedAccount(collection: Collection, auth: StoredAuth): Collection {
  return {
    ...collection,
    fields: withAccountFields(collection.fields),
    indexes: withAccountIndexes(collection.id, collection.indexes),
    auth: { ...defaultAuthOptions, ...('tokenSeconds' in auth ? renewed(auth) : auth) },
  };
}

function renewed(auth: Extract<StoredAuth, { readonly tokenSeconds: number }>): Partial<AuthOptions> {
  return {
    passwordAuth: { enabled: true, identityFields: auth.identityFields },
    authToken: { duration: auth.tokenSeconds },
  };
}
