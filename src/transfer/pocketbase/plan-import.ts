import { AppError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import { type Timestamp, toTimestamp } from '../../base/timestamp.ts';
import { checkRules } from '../../definitions/check-rules.ts';
import {
  type Collection,
  collectionLimits,
  ruleNames,
  type CollectionSecret,
  tokenKinds,
} from '../../collections/collection.ts';
import { CollectionNames } from '../../collections/collection-names.ts';
import type { Collections } from '../../collections/collection-store.ts';
import { collectionsOf } from '../../query/record-scope.ts';
import { ProblemList } from '../../collections/member-reader.ts';
import { scaffoldCollection } from '../../definitions/list-collections.ts';
import { readDate } from '../../base/read-date.ts';
import type { Instance } from '../../instances/instance.ts';
import { adaptDefinition } from './adapt-definition.ts';
import type { Omissions } from './omissions.ts';
import type { PocketbaseSource, SourceCollection } from './pocketbase-source.ts';

/** A collection of the source, and the collection that it becomes here. */
export interface PlannedCollection {
  readonly source: SourceCollection;
  readonly collection: Collection;
  /** The system collection that this instance already has in its place. */
  readonly existing: Collection | undefined;
  /** Its token secrets; an empty one is to be generated. */
  readonly secrets: ReadonlyMap<CollectionSecret, string>;
}

export interface PlanOptions {
  readonly instance: Instance;
  readonly rotateTokens: boolean;
  readonly omissions: Omissions;
}

/** Collections whose records only serve a sign-in that lasts some minutes. */
const passing: ReadonlySet<string> = new Set(['_mfas', '_otps']);

/** The account options that a system collection gets from the source; its other options stay the service's own. */
const accountOptions = [
  'passwordAuth',
  'authAlert',
  'mfa',
  'otp',
  'verificationTemplate',
  'resetPasswordTemplate',
  'confirmEmailChangeTemplate',
  ...tokenKinds,
];

/** Decides about every collection of the source before anything is written. Throws bad_request for a source that cannot be imported. */
export function planImport(source: PocketbaseSource, options: PlanOptions): readonly PlannedCollection[] {
  const own = options.instance.collections.all().filter(({ system }) => system);
  const sources = source.collections.filter((one) => isImported(one, source, options.omissions));
  if (sources.length > collectionLimits.collectionsMax)
    throw new AppError(
      'bad_request',
      `The source has ${sources.length} collections, and there can be at most ${collectionLimits.collectionsMax}.`,
    );
  const decoded = sources.map((one) => findOwn(one, own) ?? sketchOf(one));
  const unmentioned = own.filter((one) => !decoded.includes(one));
  const names = new CollectionNames([...unmentioned, ...decoded]);
  const planned = sources.map((one, at): PlannedCollection => {
    requireTable(one, source);
    const existing = findOwn(one, own);
    const sketch = decoded[at];
    if (sketch !== undefined) names.remove(sketch);
    const { collection, secrets } = adapt(one, { existing, names, options });
    names.add(collection);
    tellOfMissingColumns(one, collection, { source, omissions: options.omissions });
    decoded[at] = collection;
    return {
      source: one,
      collection,
      existing,
      secrets: secretsOf(collection, { secrets, existing, options }),
    };
  });
  const collections = collectionsOf([...unmentioned, ...decoded]);
  return planned.map((one) => withRules(one, collections, options));
}

function isImported(
  { name, type }: SourceCollection,
  { database }: PocketbaseSource,
  omissions: Omissions,
): boolean {
  if (type === 'view') return false;
  if (!passing.has(name)) return true;
  if (database.columnsOf(name) !== undefined && database.count(name) > 0)
    omissions.add({ of: name, what: 'its records', why: 'They are good for some minutes only.' });
  return false;
}

/** Finds the system collection that stands for this collection of the source. */
function findOwn({ id, name }: SourceCollection, own: readonly Collection[]): Collection | undefined {
  const system = own.find((one) => one.id === id || one.name.toLowerCase() === name.toLowerCase());
  if (system === undefined || (system.id === id && system.name === name)) return system;
  throw new AppError(
    'bad_request',
    `The collection ${JSON.stringify(name)} of the source, ${JSON.stringify(id)}, stands where ${system.name}, ${system.id}, is here.`,
  );
}

/** Returns a stand-in for a collection until it is decoded, with the parts that other definitions need. */
function sketchOf({ id, name, type }: SourceCollection): Collection {
  return { ...scaffoldCollection(type === 'auth' ? 'auth' : 'base'), id, name };
}

function requireTable({ name }: SourceCollection, { database, directory }: PocketbaseSource): void {
  if (database.columnsOf(name)?.includes('id') === true) return;
  throw new AppError(
    'bad_request',
    `${directory} has a collection ${JSON.stringify(name)} and no table of that name with ids.`,
  );
}

function adapt(
  { name, definition }: SourceCollection,
  context: {
    readonly existing: Collection | undefined;
    readonly names: CollectionNames;
    readonly options: PlanOptions;
  },
): ReturnType<typeof adaptDefinition> {
  const { existing, names, options } = context;
  const now = toTimestamp(options.instance.clock.now());
  const leaveOut = (what: string, why: string): void => options.omissions.add({ of: name, what, why });
  if (existing === undefined) {
    const adapted = adaptDefinition({ ...definition, system: false }, { names, now }, leaveOut);
    return { ...adapted, collection: { ...adapted.collection, ...timesOf(definition, now) } };
  }
  for (const field of ownFields(definition))
    if (!existing.fields.some((own) => own.name === field))
      leaveOut(`the field ${field}`, 'Collections of the service itself have no fields of others.');
  if (existing.type !== 'auth') return { collection: existing, secrets: new Map() };
  const accountSettings = Object.entries(definition).filter(([option]) => accountOptions.includes(option));
  return adaptDefinition(Object.fromEntries(accountSettings), { existing, names, now }, leaveOut);
}

/** Returns the names of a definition's fields. */
function ownFields({ fields }: SourceCollection['definition']): readonly string[] {
  const list: readonly unknown[] = Array.isArray(fields) ? fields : [];
  return list.map((field) => (isJsonObject(field) ? String(field['name']) : ''));
}

/** Reports fields that the table has no column for, or only a computed one: no record has a value for them. */
function tellOfMissingColumns(
  { name, definition }: SourceCollection,
  collection: Collection,
  { source, omissions }: { readonly source: PocketbaseSource; readonly omissions: Omissions },
): void {
  const columns = source.database.columnsOf(name) ?? [];
  const named = ownFields(definition).filter((field) => !columns.includes(field));
  for (const field of named.filter((one) => collection.fields.some((own) => own.name === one)))
    omissions.add({ of: name, what: `the values of ${field}`, why: 'Its table keeps no such column.' });
}

function timesOf(
  definition: SourceCollection['definition'],
  now: Timestamp,
): Pick<Collection, 'created' | 'updated'> {
  const created = readDate(String(definition['created'])) || now;
  return { created, updated: readDate(String(definition['updated'])) || created };
}

/** Returns the token secrets to write. A new collection gets one for every kind of token, from the source or generated. */
function secretsOf(
  { type }: Collection,
  context: {
    readonly secrets: ReadonlyMap<CollectionSecret, string>;
    readonly existing: Collection | undefined;
    readonly options: PlanOptions;
  },
): ReadonlyMap<CollectionSecret, string> {
  if (type !== 'auth') return new Map();
  const { secrets, existing, options } = context;
  if (options.rotateTokens) return new Map([...secrets, ...tokenKinds.map((kind) => [kind, ''] as const)]);
  const generated = existing === undefined ? tokenKinds.map((kind) => [kind, ''] as const) : [];
  return new Map<CollectionSecret, string>([...generated, ...secrets]);
}

/** Replaces each rule that this service cannot follow by the strictest one: superusers only, or nobody. */
function withRules(
  planned: PlannedCollection,
  collections: Collections,
  { instance, omissions }: PlanOptions,
): PlannedCollection {
  const { collection } = planned;
  const problems = new ProblemList();
  checkRules(collection, { collections, names: instance.database.names }, problems);
  const errors = problems.toErrors();
  const refused = Object.keys(errors);
  for (const name of refused) {
    const message = errors[name]?.message;
    const why = typeof message === 'string' ? message : 'Its rule cannot be followed here.';
    omissions.add({ of: collection.name, what: name, why });
  }
  const rules = { ...collection.rules };
  for (const name of ruleNames) if (refused.includes(name)) rules[name] = null;
  const { auth } = collection;
  if (auth === undefined) return { ...planned, collection: { ...collection, rules } };
  const accounts = {
    ...auth,
    ...(refused.includes('authRule') && { authRule: null }),
    ...(refused.includes('manageRule') && { manageRule: null }),
    ...(refused.includes('mfa') && { mfa: { ...auth.mfa, rule: '' } }),
  };
  return { ...planned, collection: { ...collection, rules, auth: accounts } };
}
