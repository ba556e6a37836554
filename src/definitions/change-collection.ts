import { assert } from '../base/assert.ts';
import { AppError, notFound } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { NoRoom } from '../storage/engine-errors.ts';
import {
  type Collection,
  collectionLimits,
  type CollectionSecret,
  referringTo,
  tokenKinds,
} from '../collections/collection.ts';
import { CollectionNames } from '../collections/collection-names.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import { checkRules } from './check-rules.ts';
import { keepViews } from './keep-views.ts';
import { withViews } from './view-descriptions.ts';
import { requestedSecrets } from '../collections/decode-auth-options.ts';
import { decodeCollection } from '../collections/decode-collection.ts';
import { EqualRecords } from '../collections/alter-tables.ts';
import type { ViewReader } from '../collections/infer-view.ts';
import { ProblemList } from '../collections/member-reader.ts';

/** Runs inside the transaction that deletes a collection, for parts that refer to it. May await nothing but `tx`. */
export type CollectionDeletedListener = (tx: Transaction, collection: Collection) => Promise<void>;

export interface CollectionChange {
  readonly database: Database;
  readonly collections: CollectionStore;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Stores the secrets of an auth collection, inside the transaction that saves it. An empty secret for tokens is replaced by a generated one. */
export type TokenSecretsListener = (
  tx: Transaction,
  collection: Collection,
  secrets: ReadonlyMap<CollectionSecret, string>,
) => Promise<void>;

/**
 * Runs inside the transaction that changes a definition, before the change, for parts that have to know of it or may object.
 * `before` is undefined for a collection that is created, `after` for one that is deleted. May await nothing but `tx`.
 */
export type CollectionChangeListener = (
  tx: Transaction,
  change: { readonly before: Collection | undefined; readonly after: Collection | undefined },
) => Promise<void>;

/**
 * Runs inside the transaction that renames collections, once for all of them, because they may exchange names. `names` has the
 * new names by the old ones. May await nothing but `tx`.
 */
export type RenameListener = (tx: Transaction, names: ReadonlyMap<string, string>) => Promise<void>;

/** Runs inside the transaction that has changed definitions, with all that it leaves. May await nothing but `tx`. */
export type DefinitionsListener = (tx: Transaction, collections: readonly Collection[]) => Promise<void>;

export interface CollectionSaving extends CollectionChange {
  readonly onChange?: CollectionChangeListener;
  readonly onRename?: RenameListener;
  /** Without it there can be no auth collections. */
  readonly onTokenSecrets?: TokenSecretsListener;
  readonly onDefinitions?: DefinitionsListener;
}

type Definition = Readonly<Record<string, unknown>>;

/** Makes a collection and its table; throws `bad_request` with every problem of the definition. */
export function createCollection(change: CollectionSaving, definition: Definition): Promise<Collection> {
  const failed = 'Failed to create collection.';
  return changeTables(change, { failed }, async (tx, reader) => {
    const problems = new ProblemList();
    const others = change.collections.all();
    if (others.length >= collectionLimits.collectionsMax) {
      throw new AppError(
        'bad_request',
        `${failed} There can be at most ${collectionLimits.collectionsMax} collections.`,
      );
    }
    const views = { ...reader, collections: others };
    const context = { names: new CollectionNames(others), now: toTimestamp(change.now), views };
    const collection = decodeCollection(definition, context, problems);
    const secrets = requestedSecrets(definition, problems);
    problems.throwIfAny(failed);
    checkRules(collection, { collections: change.collections, names: tx.names }, problems);
    problems.throwIfAny(failed);
    await change.onChange?.(tx, { before: undefined, after: collection });
    await change.collections.create(tx, collection);
    await saveSecrets(tx, change, { collection, secrets, before: undefined });
    await change.onDefinitions?.(tx, [...others, collection]);
    return collection;
  });
}

/** Changes a definition and its table; omitted members stay unchanged. Data of fields that stay is kept. */
export function updateCollection(
  change: CollectionSaving,
  nameOrId: string,
  definition: Definition,
): Promise<Collection> {
  const failed = 'Failed to update collection.';
  return changeTables(change, { failed, alteredTables: 1 }, async (tx, reader) => {
    const existing = getCollection(change.collections, nameOrId);
    const problems = new ProblemList();
    const all = change.collections.all();
    const views = { ...reader, collections: all };
    const context = { existing, names: new CollectionNames(all), now: toTimestamp(change.now), views };
    const collection = decodeCollection(definition, context, problems);
    const secrets = requestedSecrets(definition, problems);
    problems.throwIfAny(failed);
    checkRules(collection, { collections: change.collections, names: tx.names, existing }, problems);
    problems.throwIfAny(failed);
    const future = all.map((one) => (one === existing ? collection : one));
    const viewChanges = keepViews(failed, { before: all, future }, reader);
    await change.onChange?.(tx, { before: existing, after: collection });
    await change.collections.apply(tx, {
      changed: [{ before: existing, after: collection }, ...viewChanges],
    });
    await notifyRenames(tx, change, [{ before: existing, after: collection }]);
    await saveSecrets(tx, change, { collection, secrets, before: existing });
    const viewsAfter = new Map(viewChanges.map(({ before, after }) => [before, after]));
    await change.onDefinitions?.(
      tx,
      future.map((one) => viewsAfter.get(one) ?? one),
    );
    return collection;
  });
}

/** Tells the rename listener of the collections whose names have changed. Does nothing where none has. */
export async function notifyRenames(
  tx: Transaction,
  { onRename }: CollectionSaving,
  changed: readonly { readonly before: Collection; readonly after: Collection }[],
): Promise<void> {
  const renamed = changed.filter(({ before, after }) => before.name !== after.name);
  if (renamed.length === 0) return;
  await onRename?.(tx, new Map(renamed.map(({ before, after }) => [before.name, after.name])));
}

export interface SavedSecrets {
  readonly collection: Collection;
  readonly secrets: ReadonlyMap<CollectionSecret, string>;
  /** The definition before; undefined for a new collection, whose missing secrets are generated. */
  readonly before: Collection | undefined;
}

/**
 * Stores the token secrets of a saved collection. Does nothing for one without accounts. Another `authRule` ends all sessions: they
 * began under the one before.
 */
export async function saveSecrets(
  tx: Transaction,
  { onTokenSecrets }: CollectionSaving,
  { collection, secrets, before }: SavedSecrets,
): Promise<void> {
  if (collection.type !== 'auth') return;
  assert(onTokenSecrets !== undefined, 'an auth collection is created with a store for its token secrets');
  await onTokenSecrets(tx, collection, new Map([...freshKinds(before, collection), ...secrets]));
}

function freshKinds(
  before: Collection | undefined,
  after: Collection,
): readonly [kind: CollectionSecret, secret: ''][] {
  if (before === undefined) return tokenKinds.map((kind) => [kind, '']);
  return before.auth?.authRule === after.auth?.authRule ? [] : [['authToken', '']];
}

export interface CollectionDeletion extends CollectionSaving {
  readonly onDeleted: CollectionDeletedListener;
}

/**
 * Deletes a collection with all its records; throws bad_request when another collection refers to it. Their events and pending
 * deliveries stay.
 */
export function deleteCollection(change: CollectionDeletion, nameOrId: string): Promise<void> {
  const failed = 'Failed to delete collection.';
  return changeTables(change, { failed, alteredTables: 1 }, async (tx) => {
    const collection = getCollection(change.collections, nameOrId);
    if (collection.system) throw new AppError('bad_request', failed);
    const all = change.collections.all();
    const readingViews = all.filter(({ view }) => view?.reads.includes(collection.id) === true);
    const referring = [...new Set([...referringTo(collection, all), ...readingViews])];
    if (referring.length > 0) {
      const names = referring.map(({ name }) => name).join(', ');
      throw new AppError(
        'bad_request',
        `Failed to delete collection probably due to existing reference in ${names}.`,
      );
    }
    await change.onChange?.(tx, { before: collection, after: undefined });
    await change.onDeleted(tx, collection);
    await change.collections.delete(tx, collection);
    await change.onDefinitions?.(
      tx,
      change.collections.all().filter(({ id }) => id !== collection.id),
    );
  });
}

/** Returns the collection. Throws not_found with the message of the collection routes, which differs from that of the record routes. */
export function getCollection(collections: CollectionStore, nameOrId: string): Collection {
  const collection = collections.find(nameOrId);
  if (collection === undefined) throw notFound();
  return collection;
}

/**
 * Runs a change of tables alone in its commit. `alteredTables` is how many existing tables it may alter or drop. Throws bad_request
 * when existing records violate a new unique index.
 */
export async function changeTables<Result>(
  change: CollectionChange,
  { failed, alteredTables }: { readonly failed: string; readonly alteredTables?: number },
  work: (tx: Transaction, views: ViewReader) => Promise<Result>,
): Promise<Result> {
  const options = alteredTables === undefined ? {} : { alteredTables };
  try {
    return await withViews(change.database, (views) =>
      change.database.write((tx) => work(tx, views), { isExclusive: true, ...options }),
    );
  } catch (error) {
    // Elsewhere NoRoom suggests a retry; a change of tables would fail again.
    if (error instanceof NoRoom)
      throw new AppError('bad_request', `${failed} ${error.advice}`, { cause: error });
    if (!(error instanceof EqualRecords)) throw error;
    const { collection, indexName } = error;
    const at = collection.indexes.findIndex(({ name }) => name === indexName);
    const message = `The unique index ${indexName} of ${collection.name} cannot be made: records that exist already have equal values.`;
    throw new AppError('bad_request', failed, {
      cause: error,
      details: { indexes: { [at]: { code: 'validation_invalid_index_expression', message } } },
    });
  }
}
