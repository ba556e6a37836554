import { crc32 } from 'node:zlib';
import type { FieldError } from '../base/errors.ts';
import type { Timestamp } from '../base/timestamp.ts';
import { fieldError } from '../fields/field-error.ts';
import { type Collection, collectionLimits, lockedRules, ruleNames, type Rules } from './collection.ts';
import type { CollectionNames } from './collection-names.ts';
import { decodeAuthOptions } from './decode-auth-options.ts';
import { decodeFields } from './decode-fields.ts';
import { checkIndexTexts, decodeIndexes } from './decode-indexes.ts';
import { type InferredView, inferView, type ViewReader } from './infer-view.ts';
import type { ProblemList } from './member-reader.ts';

export interface DecodeContext {
  /** The collection that is being changed; absent when one is made. */
  readonly existing?: Collection;
  /** Those of all of the instance's collections, perhaps without the existing one: they are unique. */
  readonly names: CollectionNames;
  readonly now: Timestamp;
  /** What a view may read; without it there are none. */
  readonly views?: ViewSources;
}

export interface ViewSources extends ViewReader {
  /** All others. */
  readonly collections: readonly Collection[];
}

/**
 * Decodes a definition as a client wrote it. Members that an update leaves out stay as they are; `fields` and `indexes` are
 * replaced as a whole. Everything that is wrong goes to `problems`; the result must not be used then.
 */
export function decodeCollection(
  raw: Readonly<Record<string, unknown>>,
  context: DecodeContext,
  problems: ProblemList,
): Collection {
  const { existing } = context;
  const name = decodeName(raw, context, problems);
  const type = decodeType(raw, existing, problems);
  checkSystemFlag(raw, existing, problems);
  const id = decodeId(
    raw,
    { ...context, fallback: defaultCollectionId({ type, name }, context.names) },
    problems,
  );
  if (type === 'view') return decodeView(raw, { ...context, id, name }, problems);
  const fields = decodeFields(raw['fields'], { ...context, id, type }, problems);
  const plain: Collection = {
    id,
    name,
    type,
    system: existing?.system ?? false,
    rules: decodeRules(raw, existing, problems),
    fields,
    indexes: [],
    auth: undefined,
    created: existing?.created ?? context.now,
    updated: context.now,
  };
  const draft = { ...plain, indexes: decodeIndexes(raw['indexes'], { ...context, draft: plain }, problems) };
  if (type !== 'auth') return draft;
  return { ...draft, auth: decodeAuthOptions(raw, { ...context, draft }, problems) };
}

/** Decodes what a view has, which has no say in its fields. */
function decodeView(
  raw: Readonly<Record<string, unknown>>,
  { existing, now, views, id, name }: DecodeContext & Pick<Collection, 'id' | 'name'>,
  problems: ProblemList,
): Collection {
  const rules = decodeRules(raw, existing, problems);
  checkViewMembers(raw, problems);
  const others = views?.collections.filter((one) => one.type === 'view' && one.id !== id) ?? [];
  if (others.length >= collectionLimits.viewsMax)
    problems.add('type', {
      code: 'validation_length_too_long',
      message: `There can be at most ${collectionLimits.viewsMax} views.`,
      params: { max: collectionLimits.viewsMax },
    });
  const inferred =
    views && decodeQuery(raw['viewQuery'] ?? existing?.view?.query, { existing, views, id }, problems);
  return {
    id,
    name,
    type: 'view',
    system: false,
    rules,
    fields: inferred?.fields ?? [],
    indexes: [],
    auth: undefined,
    ...(inferred && { view: inferred.view }),
    created: existing?.created ?? now,
    updated: now,
  };
}

function checkViewMembers(raw: Readonly<Record<string, unknown>>, problems: ProblemList): void {
  for (const rule of ['createRule', 'updateRule', 'deleteRule'])
    if (raw[rule] !== undefined && raw[rule] !== null)
      problems.add(rule, { code: 'validation_nil', message: 'Must be blank.' });
  const { indexes } = raw;
  if (indexes === undefined || indexes === null || (Array.isArray(indexes) && indexes.length === 0)) return;
  const message = "View collections don't support indexes.";
  problems.add('indexes', { code: 'validation_indexes_not_supported', message });
}

function decodeQuery(
  query: unknown,
  {
    existing,
    views,
    id,
  }: {
    readonly existing: Collection | undefined;
    readonly views: ViewSources;
    readonly id: string;
  },
  problems: ProblemList,
): InferredView | undefined {
  const problem = queryProblem(query);
  if (problem !== undefined) problems.add('viewQuery', problem);
  // A query that is no text has a problem.
  if (problem !== undefined || typeof query !== 'string') return undefined;
  const others = views.collections.filter((one) => one.id !== id);
  const inferred = inferView(query, others, views);
  const failure =
    typeof inferred === 'string'
      ? inferred
      : query === existing?.view?.query
        ? undefined
        : views.idProblem(inferred.draft);
  if (failure !== undefined)
    problems.add('viewQuery', {
      code: 'validation_invalid_view_query',
      message: `Invalid query - ${failure}.`,
    });
  return typeof inferred === 'string' ? undefined : inferred;
}

/** Returns what is wrong with a query before it is read. */
export function queryProblem(query: unknown): FieldError | undefined {
  if (query === undefined || query === null || query === '') return fieldError('validation_required');
  if (typeof query !== 'string') return { code: 'validation_invalid_view_query', message: 'Must be a text.' };
  const max = collectionLimits.viewQueryLengthMax;
  return query.length > max ? fieldError('validation_length_too_long', { min: 0, max }) : undefined;
}

/** Adds what is wrong with a definition whatever collections there are where it is applied. */
export function checkDefinition(raw: Readonly<Record<string, unknown>>, problems: ProblemList): void {
  const { name, id } = raw;
  const isFoundById = typeof id === 'string' && id !== '';
  if (id !== undefined && id !== '' && !(isFoundById && isId(id)))
    problems.add('id', fieldError('validation_match_invalid'));
  const isNameless = name === undefined && isFoundById;
  if (!isNameless && (typeof name !== 'string' || name === ''))
    problems.add('name', fieldError('validation_required'));
  const problem = typeof name === 'string' && name !== '' ? nameProblem(name) : undefined;
  if (problem !== undefined) problems.add('name', problem);
  const type = decodeType(raw, undefined, problems);
  decodeRules(raw, undefined, problems);
  if (type === 'view') {
    const query = raw['viewQuery'] === undefined && isFoundById ? undefined : queryProblem(raw['viewQuery']);
    if (query !== undefined) problems.add('viewQuery', query);
    return checkViewMembers(raw, problems);
  }
  decodeFields(
    raw['fields'],
    { id: '', type, names: { hasExactId: () => true, isView: () => false } },
    problems,
  );
  checkIndexTexts(raw['indexes'], problems);
}

/**
 * Returns the id of a collection whose definition gives none. It is made as in the reference, so that the same definition means
 * the same collection. A collection that was renamed keeps its id, so one that gets the old name has the next free one.
 */
export function defaultCollectionId(
  { type, name }: Pick<Collection, 'type' | 'name'>,
  names: CollectionNames,
): string {
  for (let number = crc32(type + name); ; number += 1) {
    const id = `pbc_${number}`;
    if (!names.hasId(id) && !names.hasName(id)) return id;
  }
}

function decodeName(
  raw: Readonly<Record<string, unknown>>,
  context: DecodeContext,
  problems: ProblemList,
): string {
  const { existing, names } = context;
  const name = raw['name'] === undefined ? (existing?.name ?? '') : raw['name'];
  if (typeof name !== 'string' || name === '') {
    problems.add('name', fieldError('validation_required'));
    return '';
  }
  const problem = nameProblem(name);
  if (problem !== undefined) problems.add('name', problem);
  else if (existing?.system === true && name !== existing.name) {
    problems.add('name', {
      code: 'validation_collection_system_name_change',
      message: 'System collection name cannot be changed.',
    });
  } else if (name !== existing?.name) {
    const conflict = nameConflict(name, names, existing);
    if (conflict !== undefined) problems.add('name', conflict);
  }
  return name;
}

/**
 * Returns the problem of a name that is taken. Names and ids of collections share one namespace, because a path may hold either;
 * names of collections and indexes share another, in the database.
 */
function nameConflict(
  name: string,
  names: CollectionNames,
  existing: Collection | undefined,
): FieldError | undefined {
  if (names.hasName(name, existing?.id)) {
    return {
      code: 'validation_collection_name_exists',
      message: 'Collection name must be unique (case insensitive).',
    };
  }
  if (names.hasId(name, existing?.id)) {
    return {
      code: 'validation_collection_name_id_duplicate',
      message: 'The name must not match an existing collection id.',
    };
  }
  if (names.hasIndex(name)) {
    return { code: 'validation_collection_name_invalid', message: 'There is an index of this name.' };
  }
  return undefined;
}

function nameProblem(name: string): FieldError | undefined {
  if (name.length > collectionLimits.nameLengthMax) {
    return fieldError('validation_length_out_of_range', { min: 1, max: collectionLimits.nameLengthMax });
  }
  if (!/^\w+$/.test(name)) return fieldError('validation_match_invalid');
  if (name.toLowerCase().includes('_via_')) {
    return fieldError('validation_found_via');
  }
  if (name.toLowerCase().startsWith('sqlite_')) {
    return {
      code: 'validation_collection_name_invalid',
      message: 'Names that begin with `sqlite_` are reserved.',
    };
  }
  return undefined;
}

function decodeType(
  raw: Readonly<Record<string, unknown>>,
  existing: Collection | undefined,
  problems: ProblemList,
): Collection['type'] {
  const sent = raw['type'] === '' ? undefined : raw['type'];
  const type = sent ?? existing?.type ?? 'base';
  if (existing !== undefined) {
    if (type !== existing.type) {
      problems.add('type', {
        code: 'validation_collection_type_change',
        message: 'Collection type cannot be changed.',
      });
    }
    return existing.type;
  }
  if (type === 'base' || type === 'auth' || type === 'view') return type;
  problems.add('type', { code: 'validation_in_invalid', message: 'Must be a valid value.' });
  return 'base';
}

/** Refuses a change of the `system` flag. For a new collection the flag is ignored: only the service makes system collections. */
function checkSystemFlag(
  raw: Readonly<Record<string, unknown>>,
  existing: Collection | undefined,
  problems: ProblemList,
): void {
  const system = raw['system'];
  if (existing === undefined || system === undefined || system === null || system === existing.system) return;
  problems.add('system', {
    code: 'validation_collection_system_flag_change',
    message: 'System collection state cannot be changed.',
  });
}

function decodeId(
  raw: Readonly<Record<string, unknown>>,
  context: DecodeContext & { readonly fallback: string },
  problems: ProblemList,
): string {
  if (context.existing !== undefined) return context.existing.id;
  const id = raw['id'] === undefined || raw['id'] === '' ? context.fallback : raw['id'];
  if (typeof id !== 'string' || !isId(id)) {
    problems.add('id', fieldError('validation_match_invalid'));
    return context.fallback;
  }
  // Case is ignored, because an index in the database is named after the id.
  if (context.names.hasId(id) || context.names.hasName(id))
    problems.add('id', {
      code: 'validation_invalid_or_existing_id',
      message: 'The model id is invalid or already exists.',
    });
  return id;
}

function isId(id: string): boolean {
  return /^\w{1,100}$/.test(id);
}

/** Decodes the rules. Whether they compile is checked when the whole definition is known: check-rules.ts. */
function decodeRules(
  raw: Readonly<Record<string, unknown>>,
  existing: Collection | undefined,
  problems: ProblemList,
): Rules {
  const rules: { -readonly [Name in keyof Rules]: Rules[Name] } = { ...(existing?.rules ?? lockedRules) };
  for (const name of ruleNames) {
    const rule = raw[name];
    if (rule === undefined) continue;
    if (rule !== null && typeof rule !== 'string') {
      const message =
        'Invalid rule. Expected null (superusers only), an empty string (everyone) or a filter.';
      problems.add(name, { code: 'validation_invalid_rule', message });
    } else if (existing?.system === true && rule !== existing.rules[name]) {
      problems.add(name, {
        code: 'validation_collection_system_rule_change',
        message: 'System collection API rule cannot be changed.',
      });
    } else rules[name] = rule;
  }
  return rules;
}
