import { AppError } from '../base/errors.ts';
import { decodeField, hasColumn, type Field } from '../fields/field.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Row, Transaction } from '../storage/database.ts';
import { lockedRules, type AuthOptions, type Collection, type Rules } from './collection.ts';
import { parseIndex, indexToText, type IndexDefinition } from './index-definition.ts';
import { secretName } from './secret-name.ts';
import { alterTable, createTable, dropTable } from './tables.ts';

/** Collections by name in any case, or by id. */
export type CollectionFinder = Pick<CollectionStore, 'find'>;

/**
 * One instance's collections, in memory: every request asks for one. The memory changes only after the commit of the change,
 * and changes run alone in their commit, so a work that asks inside its transaction sees what its tables look like.
 */
export class CollectionStore {
  #byId = new Map<string, Collection>();
  #byName = new Map<string, Collection>();

  static async load(reader: Reader): Promise<CollectionStore> {
    const store = new CollectionStore();
    await store.reload(reader);
    return store;
  }

  /** Reads all definitions again, for engines on which another process may have changed them. */
  async reload(reader: Reader): Promise<void> {
    const rows = await reader.all(
      sql`SELECT * FROM ${reader.names.table('$collection')} WHERE ${reader.names.scope} ORDER BY position`,
    );
    this.#byId.clear();
    this.#byName.clear();
    for (const row of rows) this.#put(fromRow(row));
  }

  /** By name in any case, or by id. */
  find(nameOrId: string): Collection | undefined {
    // Most names come as they are written in the definition: the first look-up spares a copy in lower case.
    return this.#byName.get(nameOrId) ?? this.#byName.get(nameOrId.toLowerCase()) ?? this.#byId.get(nameOrId);
  }

  get(nameOrId: string): Collection {
    const found = this.find(nameOrId);
    if (found === undefined) throw new AppError('not_found', 'Missing collection context.');
    return found;
  }

  all(): readonly Collection[] {
    return [...this.#byId.values()];
  }

  async create(tx: Transaction, collection: Collection): Promise<void> {
    const { id, name, type, created, updated } = collection;
    await tx.run(sql`
      INSERT INTO ${tx.names.table('$collection')} (${tx.names.scopeColumn}id, name, type, system, definition, created, updated)
      VALUES (${tx.names.scopeValue}${id}, ${name}, ${type}, ${collection.system ? 1 : 0}, ${definitionText(collection)}, ${created}, ${updated})`);
    await createTable(tx, collection);
    tx.afterCommit(() => this.#put(collection));
  }

  async update(tx: Transaction, before: Collection, after: Collection): Promise<void> {
    await tx.run(sql`
      UPDATE ${tx.names.table('$collection')} SET name = ${after.name}, definition = ${definitionText(after)}, updated = ${after.updated}
      WHERE ${tx.names.scope} AND id = ${after.id}`);
    await alterTable(tx, before, after);
    for (const field of before.fields)
      if (!hasColumn(field) && !after.fields.some(({ id }) => id === field.id))
        await deleteValues(tx, after, field);
    tx.afterCommit(() => {
      this.#remove(before);
      this.#put(after);
    });
  }

  async delete(tx: Transaction, collection: Collection): Promise<void> {
    await tx.run(
      sql`DELETE FROM ${tx.names.table('$collection')} WHERE ${tx.names.scope} AND id = ${collection.id}`,
    );
    await tx.run(
      sql`DELETE FROM ${tx.names.table('$secret')} WHERE ${tx.names.scope} AND collection = ${collection.id}`,
    );
    await dropTable(tx, collection);
    tx.afterCommit(() => this.#remove(collection));
  }

  #put(collection: Collection): void {
    this.#byId.set(collection.id, collection);
    this.#byName.set(collection.name, collection);
    this.#byName.set(collection.name.toLowerCase(), collection);
  }

  #remove(collection: Collection): void {
    this.#byId.delete(collection.id);
    this.#byName.delete(collection.name);
    this.#byName.delete(collection.name.toLowerCase());
  }
}

/** Of a field that has them apart from its collection's table. */
async function deleteValues(tx: Transaction, { id }: Collection, field: Field): Promise<void> {
  await tx.run(
    sql`DELETE FROM ${tx.names.table('$secret')} WHERE ${tx.names.scope} AND collection = ${id} AND name = ${secretName(field)}`,
  );
}

/** What of a collection is kept as one JSON text. */
interface Definition {
  readonly rules: Rules;
  readonly fields: readonly unknown[];
  readonly indexes: readonly string[];
  readonly auth: AuthOptions | null;
}

function definitionText(collection: Collection): string {
  const fields = collection.fields.map(({ options, ...common }) => ({ ...options, ...common }));
  const indexes = collection.indexes.map((index) => indexToText(index, collection.name));
  const definition: Definition = { rules: collection.rules, fields, indexes, auth: collection.auth ?? null };
  return JSON.stringify(definition);
}

/** Definitions were checked before they were stored; what does not decode now was damaged, and is a bug to be loud about. */
function fromRow(row: Row): Collection {
  // Written by definitionText above, and by nobody else.
  const definition = JSON.parse(String(row['definition'])) as Definition;
  return {
    id: String(row['id']),
    name: String(row['name']),
    type: row['type'] === 'auth' ? 'auth' : 'base',
    system: row['system'] === 1,
    rules: { ...lockedRules, ...definition.rules },
    fields: definition.fields.map(storedField),
    indexes: definition.indexes.map(storedIndex),
    auth: definition.auth ?? undefined,
    created: String(row['created']),
    updated: String(row['updated']),
  };
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
