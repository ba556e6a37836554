import { AppError, type FieldError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { inTurns, Pauses } from '../base/pieces.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import { decodeField, type Field } from '../fields/field.ts';
import { readSelect } from '../sql/select-text.ts';
import type { Database, Names } from '../storage/database.ts';
import type { ViewQueries } from '../storage/view-query.ts';
import type { SavedSecrets } from './change-collection.ts';
import { accountsOf, checkRules, filterRules } from './check-rules.ts';
import type { TableChange } from '../collections/alter-tables.ts';
import { CollectionNames } from '../collections/collection-names.ts';
import type { Collections } from '../collections/collection-store.ts';
import { collectionsOf } from '../query/record-scope.ts';
import {
  type Collection,
  collectionLimits,
  collectionToJson,
  referringById,
  ruleNames,
} from '../collections/collection.ts';
import { requestedSecrets } from '../collections/decode-auth-options.ts';
import { decodeCollection, defaultCollectionId } from '../collections/decode-collection.ts';
import { ProblemList } from '../collections/member-reader.ts';
import type { ViewReader } from '../collections/infer-view.ts';
import { keepViews } from './keep-views.ts';
import { scaffoldCollection } from './list-collections.ts';
import { withViews } from './view-descriptions.ts';

export const importFailed = 'Failed to import collections.';

export type Definition = Readonly<Record<string, unknown>>;

export interface CollectionImport {
  readonly collections: readonly Definition[];
  /** Whether to delete collections that are missing in the import, and fields that are missing in its definitions. System ones are never deleted. */
  readonly deleteMissing: boolean;
}

/** What an import would do to the collections. */
export interface ImportPlan {
  readonly created: readonly Collection[];
  readonly changed: readonly TableChange[];
  readonly removed: readonly Collection[];
  /** Those of `changed` that the import does not name: views, whose fields follow from what they read. */
  readonly viewChanges: ReadonlySet<TableChange>;
  /** Token secrets that definitions bring, and those of new collections. */
  readonly secrets: readonly SavedSecrets[];
}

/**
 * Returns what {@link importCollections} would do with the same body, and does nothing. Throws bad_request for all that it would refuse by
 * the definitions alone: whether the records allow it shows only when it is done.
 */
export async function readImportPlan(
  present: readonly Collection[],
  body: Definition,
  { now, database }: { readonly now: number; readonly database: ViewQueries & Pick<Database, 'names'> },
): Promise<ImportPlan> {
  const request = decodeImport(body);
  const { names } = database;
  return await withViews(database, (views) => {
    const planning = planImport(present, request, { now: toTimestamp(now), names, views });
    return inTurns(planning, new Pauses(partsPerTurn));
  });
}

/** How many parts of an import are planned in one turn of the event loop: some milliseconds. */
export const partsPerTurn = 200;

/** A rule is compiled for a guest and for the accounts of several collections. */
const partsPerRule = 10;

export function decodeImport(body: Definition): CollectionImport {
  const { collections, deleteMissing } = body;
  const problems = new ProblemList();
  if (collections === undefined || collections === null || (isList(collections) && collections.length === 0))
    problems.add('collections', fieldError('validation_required'));
  else if (!isList(collections) || !collections.every(isJsonObject))
    problems.add('collections', invalidValue('Must be an array of collections.'));
  else if (collections.length > collectionLimits.collectionsMax) problems.add('collections', tooMany);
  if (deleteMissing !== undefined && deleteMissing !== null && typeof deleteMissing !== 'boolean')
    problems.add('deleteMissing', invalidValue('Must be true or false.'));
  problems.throwIfAny('An error occurred while validating the submitted data.');
  // Checked above; the compiler cannot see that through the list of problems.
  return { collections: collections as readonly Definition[], deleteMissing: deleteMissing === true };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

const tooMany: FieldError = {
  code: 'validation_length_too_long',
  message: `There can be at most ${collectionLimits.collectionsMax} collections.`,
  params: { max: collectionLimits.collectionsMax },
};

/** A definition on its way to a collection. */
interface Item {
  readonly raw: Definition;
  readonly existing: Collection | undefined;
  /** Stands for this collection among the others until it is decoded: it has its future id and name. */
  readonly sketch: Collection;
}

/** Plans an import in steps, which yield of how many parts each of them was. */
export function* planImport(
  present: readonly Collection[],
  { collections, deleteMissing }: CollectionImport,
  { now, names, views }: { readonly now: Timestamp; readonly names: Names; readonly views: ViewReader },
): Generator<number, ImportPlan> {
  const byId = new Map(present.map((one) => [one.id, one]));
  const byName = new Map(present.map((one) => [one.name.toLowerCase(), one]));
  const matches = collections.map((raw) => ({ raw, existing: findExisting(raw, { byId, byName }) }));
  requirePartsMax(matches, deleteMissing);
  const drafts = matches.map((one) => toItem(one, deleteMissing));
  const mentioned = new Set(drafts.map(({ existing }) => existing));
  const unmentioned = present.filter((one) => !mentioned.has(one));
  const isRemoved = ({ system }: Collection): boolean => deleteMissing && !system;
  const removed = unmentioned.filter(isRemoved);
  const remaining = unmentioned.filter((one) => !isRemoved(one));
  const items = withIds(drafts, remaining);
  if (items.length + remaining.length > collectionLimits.collectionsMax)
    throw new AppError('bad_request', importFailed, { details: { collections: tooMany } });
  const { decoded, secrets } = yield* decodeItems(items, { remaining, now, views });
  refuseReferred(removed, remaining);
  const viewChanges = keepViews(importFailed, { before: present, future: [...remaining, ...decoded] }, views);
  const viewsAfter = new Map(viewChanges.map(({ before, after }) => [before, after]));
  const future = collectionsOf([...remaining.map((one) => viewsAfter.get(one) ?? one), ...decoded]);
  yield* checkAllRules(items, decoded, { collections: future, names });
  const changed: TableChange[] = [];
  for (const [at, { existing }] of items.entries()) {
    const after = decoded[at];
    if (existing === undefined || after === undefined) continue;
    yield after.fields.length;
    if (!isSame(existing, after)) changed.push({ before: existing, after });
  }
  return {
    removed,
    secrets,
    changed: [...changed, ...viewChanges],
    viewChanges: new Set(viewChanges),
    created: decoded.filter((_, at) => items[at]?.existing === undefined),
  };
}

/** Decodes each definition beside all others: those before it as they will be, those behind it as their sketches. Views come last. */
function* decodeItems(
  items: readonly Item[],
  { remaining, now, views: reader }: DecodeParts,
): Generator<number, { readonly decoded: readonly Collection[]; readonly secrets: readonly SavedSecrets[] }> {
  const names = new CollectionNames([...remaining, ...items.map(({ sketch }) => sketch)]);
  const decodedAt = new Map<Item, Collection>();
  const secrets: SavedSecrets[] = [];
  const targets = new Set<Collection>();
  for (const item of viewsLast(items)) {
    const { raw, existing, sketch } = item;
    const at = items.indexOf(item);
    const views = { ...reader, collections: [...remaining, ...decodedAt.values()] };
    names.remove(sketch);
    const problems = new ProblemList();
    if (existing !== undefined && targets.has(existing)) problems.add('id', twice);
    if (existing !== undefined) targets.add(existing);
    const context = { names, now, views, ...(existing !== undefined && { existing }) };
    const collection = decodeCollection(raw, context, problems);
    names.add(collection);
    decodedAt.set(item, collection);
    secrets.push({
      collection,
      secrets: requestedSecrets(raw, problems),
      before: existing,
    });
    if (!problems.isEmpty) throw refusal(problems, { at, raw });
    yield 1 + collection.fields.length;
  }
  return { decoded: items.flatMap((item) => decodedAt.get(item) ?? []), secrets };
}

interface DecodeParts {
  readonly remaining: readonly Collection[];
  readonly now: Timestamp;
  readonly views: ViewReader;
}

/** Returns the items with views behind what they read, as far as their queries name it. */
function viewsLast(items: readonly Item[]): readonly Item[] {
  const isView = ({ sketch }: Item): boolean => sketch.type === 'view';
  const views = new Map(items.filter(isView).map((item) => [item.sketch.name.toLowerCase(), item]));
  const ordered = new Set(items.filter((item) => !isView(item)));
  const visit = (name: string, item: Item): void => {
    if (!views.delete(name)) return;
    const raw = item.raw['viewQuery'] ?? item.existing?.view?.query;
    const query = readSelect(typeof raw === 'string' ? raw : '');
    for (const word of typeof query === 'string' ? [] : query.words) {
      const other = views.get(word);
      if (other !== undefined) visit(word, other);
    }
    ordered.add(item);
  };
  for (const [name, item] of views) visit(name, item);
  return [...ordered, ...items.filter((item) => !ordered.has(item))];
}

/** Throws bad_request for the first definition with a rule that does not compile beside all others. */
function* checkAllRules(
  items: readonly Item[],
  decoded: readonly Collection[],
  { collections, names }: { readonly collections: Collections; readonly names: Names },
): Generator<number, void> {
  const accounts = accountsOf(collections);
  for (const [at, collection] of decoded.entries()) {
    const problems = new ProblemList();
    const existing = items[at]?.existing;
    checkRules(collection, { collections, names, existing, accounts }, problems);
    if (!problems.isEmpty) throw refusal(problems, { at, raw: items[at]?.raw ?? {} });
    yield partsPerRule * filterRules(collection).length;
  }
}

const twice: FieldError = {
  code: 'validation_invalid_or_existing_id',
  message: 'The collection appears more than once.',
};

/** A definition, and the collection that it is about if there is one. */
type Match = Pick<Item, 'raw' | 'existing'>;

/**
 * Throws bad_request when there is more to check and to change than one request may: the whole process would wait. An import
 * that names some fields of a collection keeps the others, which count as well.
 */
function requirePartsMax(matches: readonly Match[], deleteMissing: boolean): void {
  const { importPartsMax } = collectionLimits;
  const count = matches.reduce((sum, one) => sum + partsOf(one, deleteMissing), 0);
  if (count <= importPartsMax) return;
  const failure: FieldError = {
    code: 'validation_length_too_long',
    message: `One import can be about at most ${importPartsMax} collections, fields, indexes and rules in all, and this one is about ${count}: import them in several steps.`,
    params: { max: importPartsMax, count },
  };
  throw new AppError('bad_request', importFailed, { details: { collections: failure } });
}

function partsOf({ raw, existing }: Match, deleteMissing: boolean): number {
  const [fields, indexes] = [raw['fields'], raw['indexes']].map((list) => (isList(list) ? list.length : 0));
  const currentFields = isList(raw['fields']) && !deleteMissing ? (existing?.fields.length ?? 0) : 0;
  const rules = [...ruleNames, 'authRule', 'manageRule'].filter((name) => isRule(raw[name])).length;
  return 1 + Math.max(fields ?? 0, currentFields) + (indexes ?? 0) + rules;
}

function isRule(rule: unknown): boolean {
  return typeof rule === 'string' && rule !== '';
}

function toItem({ raw, existing }: Match, deleteMissing: boolean): Item {
  const merged = existing === undefined || deleteMissing ? raw : withMissingFields(raw, existing.fields);
  const name = typeof raw['name'] === 'string' ? raw['name'] : (existing?.name ?? '');
  const { type: rawType } = raw;
  const type = existing?.type ?? (rawType === 'auth' || rawType === 'view' ? rawType : 'base');
  const rawId = raw['id'];
  // An id that is no text is rejected when it is decoded. Converting an object here would run its `toString`.
  const id = existing?.id ?? (typeof rawId === 'string' ? rawId : '');
  // The sketch has no indexes: they are compared with those of the others when the item itself is decoded.
  return { raw: merged, existing, sketch: { ...scaffoldCollection(type), id, name, type } };
}

/** Assigns an id to each item whose definition has none. */
function withIds(items: readonly Item[], remaining: readonly Collection[]): readonly Item[] {
  const names = new CollectionNames([
    ...remaining,
    ...items.map(({ sketch }) => sketch).filter(({ id }) => id !== ''),
  ]);
  return items.map((item) => {
    if (item.sketch.id !== '') return item;
    const id = defaultCollectionId(item.sketch, names);
    const sketch = { ...item.sketch, id };
    names.add(sketch);
    // An id that is no text stays, to be rejected.
    return { ...item, sketch, raw: isPresent(item.raw['id']) ? item.raw : { ...item.raw, id } };
  });
}

interface Present {
  readonly byId: ReadonlyMap<unknown, Collection>;
  /** By name in lower case. */
  readonly byName: ReadonlyMap<string, Collection>;
}

function findExisting({ id, name }: Definition, { byId, byName }: Present): Collection | undefined {
  if (isPresent(id)) return byId.get(id);
  return typeof name === 'string' ? byName.get(name.toLowerCase()) : undefined;
}

function isPresent(id: unknown): boolean {
  return id !== undefined && id !== null && id !== '';
}

/** Appends the existing fields that the definition omits. Standard ones are left out: decoding puts them in their places. */
function withMissingFields(raw: Definition, fields: readonly Field[]): Definition {
  const rawFields = raw['fields'];
  if (!isList(rawFields)) return raw;
  const ids = new Set(rawFields.map((item) => decodeField(item, { add: () => undefined })?.id));
  const missing = fields
    .filter(({ id, name, system }) => !ids.has(id) && !system && !['created', 'updated'].includes(name))
    .map(({ options, ...common }) => ({ ...options, ...common }));
  return { ...raw, fields: [...rawFields, ...missing] };
}

/** Returns the error for one definition: its problems, as if it had been sent alone, and its index. */
function refusal(problems: ProblemList, item: { readonly at: number; readonly raw: Definition }): AppError {
  const name = typeof item.raw['name'] === 'string' ? item.raw['name'] : '';
  const message = `The collection at index ${item.at}, ${JSON.stringify(name)}, is refused.`;
  const failure: FieldError = { code: 'validation_collections_import_failure', message };
  return new AppError('bad_request', importFailed, {
    details: { collections: failure, ...problems.toErrors() },
  });
}

/**
 * Throws bad_request when a collection that stays, and is not imported, refers to one that is removed. Relations of imported ones
 * were checked when they were decoded.
 */
function refuseReferred(removed: readonly Collection[], remaining: readonly Collection[]): void {
  const referring = referringById(remaining);
  for (const collection of removed) {
    const other = referring.get(collection.id);
    if (other === undefined) continue;
    const message = `The collection ${JSON.stringify(collection.name)} cannot be deleted: ${other.name} refers to it.`;
    const failure: FieldError = { code: 'validation_collections_import_failure', message };
    throw new AppError('bad_request', importFailed, { details: { collections: failure } });
  }
}

function isSame(before: Collection, after: Collection): boolean {
  return collectionToJson(before) === collectionToJson({ ...after, updated: before.updated });
}
