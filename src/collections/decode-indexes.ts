import type { FieldError } from '../base/errors.ts';
import { fieldColumn, hasColumn } from '../fields/field.ts';
import { type Collection, collectionLimits } from './collection.ts';
import type { CollectionNames } from './collection-names.ts';
import {
  type IndexDefinition,
  indexToText,
  isIdentityIndex,
  parseIndex,
  renameIndexColumns,
} from './index-definition.ts';
import { ProblemList } from './member-reader.ts';

export interface IndexContext {
  readonly existing?: Collection;
  readonly names: CollectionNames;
  /** The collection with its new fields. */
  readonly draft: Collection;
}

/**
 * Decodes the indexes of a definition. When an update does not mention them, the present ones stay: their columns follow renamed
 * fields, and an index whose field is dropped goes with it.
 */
export function decodeIndexes(
  raw: unknown,
  context: IndexContext,
  problems: ProblemList,
): readonly IndexDefinition[] {
  if (raw === undefined || raw === null) return withRequired(existingIndexes(context), context);
  if (!isIndexList(raw)) {
    problems.add('indexes', tooManyIndexes);
    return [];
  }
  const errors = new ProblemList();
  const indexes: IndexDefinition[] = [];
  for (const [at, text] of raw.entries()) {
    const index = readIndex(text);
    const problem = index === undefined ? invalidIndex : indexProblem(index, indexes, context);
    if (problem !== undefined) errors.add(String(at), problem);
    else if (index !== undefined) indexes.push(index);
  }
  problems.addAll('indexes', errors);
  return errors.isEmpty ? withRequired(indexes, context) : indexes;
}

/** Adds what is wrong with the indexes of a definition whatever its fields are. */
export function checkIndexTexts(raw: unknown, problems: ProblemList): void {
  if (raw === undefined || raw === null) return;
  const errors = new ProblemList();
  if (isIndexList(raw))
    for (const [at, text] of raw.entries())
      if (readIndex(text) === undefined) errors.add(String(at), invalidIndex);
  if (isIndexList(raw)) problems.addAll('indexes', errors);
  else problems.add('indexes', tooManyIndexes);
}

function isIndexList(raw: unknown): raw is readonly unknown[] {
  return Array.isArray(raw) && raw.length <= collectionLimits.indexesMax;
}

const tooManyIndexes: FieldError = {
  code: 'validation_length_too_long',
  message: `Must be an array of at most ${collectionLimits.indexesMax} indexes.`,
  params: { max: collectionLimits.indexesMax },
};

function readIndex(text: unknown): IndexDefinition | undefined {
  return typeof text === 'string' && text.length <= collectionLimits.indexTextLengthMax
    ? parseIndex(text)
    : undefined;
}

/** Adds the indexes that an auth collection must have, where a definition leaves them out: without that on `email` two accounts could share an address. */
function withRequired(
  indexes: readonly IndexDefinition[],
  context: IndexContext,
): readonly IndexDefinition[] {
  const { draft, names } = context;
  if (draft.type !== 'auth') return indexes;
  const isTaken = (name: string): boolean => names.hasIndex(name, draft.id) || isTableName(name, context);
  return withAccountIndexes(draft.id, indexes, isTaken);
}

const invalidIndex: FieldError = {
  code: 'validation_invalid_index_expression',
  message:
    'Expected CREATE [UNIQUE] INDEX `name` ON `collection` (`field` [COLLATE NOCASE] [ASC|DESC], …) [WHERE `field` = value AND …].',
};

function existingIndexes(context: IndexContext): readonly IndexDefinition[] {
  const { existing, draft } = context;
  if (existing === undefined) return [];
  const idOf = new Map(existing.fields.map((field) => [field.name, field.id]));
  const nameOf = new Map(draft.fields.map((field) => [field.id, field.name]));
  return existing.indexes
    .map((index) => renameIndexColumns(index, (column) => nameOf.get(idOf.get(column) ?? '')))
    .filter((index) => index !== undefined);
}

function indexProblem(
  index: IndexDefinition,
  before: readonly IndexDefinition[],
  context: IndexContext,
): FieldError | undefined {
  const { draft, names } = context;
  const isNamed = (other: IndexDefinition): boolean => other.name.toLowerCase() === index.name.toLowerCase();
  if (before.some(isNamed)) {
    return { code: 'validation_duplicated_index_name', message: 'The index name already exists.' };
  }
  if (names.hasIndex(index.name, draft.id) || isTableName(index.name, context)) {
    return {
      code: 'validation_existing_index_name',
      message: 'The index name is already used in another collection.',
    };
  }
  const twin = before.find((other) => definitionOf(other) === definitionOf(index));
  if (twin !== undefined) {
    return {
      code: 'validation_duplicated_index_definition',
      message: `The index ${JSON.stringify(twin.name)} has the same definition.`,
    };
  }
  if (index.name.toLowerCase().startsWith('sqlite_')) return invalidIndex;
  const columns = [
    ...index.columns.map((column) => column.name),
    ...index.where.map((condition) => condition.column),
  ];
  // The index on `tokenKey` is part of answers, so it can be sent back, though the field has no column. No other index may name it.
  const isTokenKeyIndex =
    draft.type === 'auth' && isIdentityIndex(index, 'tokenKey') && index.where.length === 0;
  const unknown = columns.find(
    (name) => !isTokenKeyIndex && !draft.fields.some((field) => field.name === name && hasColumn(field)),
  );
  if (unknown !== undefined) {
    return {
      code: 'validation_invalid_index_expression',
      message: `There is no field ${JSON.stringify(unknown)}.`,
    };
  }
  return isTokenKeyIndex ? undefined : conditionProblem(index, draft);
}

/** Returns the whole index but its name, as a text. */
function definitionOf(index: IndexDefinition): string {
  return indexToText({ ...index, name: '' }, '');
}

/** Rejects a comparison of a text with a number: the engines evaluate it differently. */
function conditionProblem(index: IndexDefinition, draft: Collection): FieldError | undefined {
  for (const { column, value } of index.where) {
    const field = draft.fields.find((candidate) => candidate.name === column);
    const kind = field === undefined ? 'text' : fieldColumn(field);
    const expected = kind === 'number' || kind === 'bool' ? 'number' : 'string';
    if (typeof value === expected) continue;
    return {
      code: 'validation_invalid_index_expression',
      message: `The field ${JSON.stringify(column)} is compared with a ${expected === 'number' ? 'number' : 'text'}.`,
    };
  }
  return undefined;
}

/** Tables and indexes share one namespace in the database. */
function isTableName(name: string, context: IndexContext): boolean {
  return context.names.hasName(name) || context.draft.name.toLowerCase() === name.toLowerCase();
}

/**
 * Adds the indexes that every auth collection shows, by names that are free. Of the two the table has only that on `email`: token keys are
 * not a column of it, and as random texts never repeat.
 */
export function withAccountIndexes(
  collectionId: string,
  indexes: readonly IndexDefinition[],
  isTaken: (name: string) => boolean = () => false,
): readonly IndexDefinition[] {
  const names = new Set(indexes.map(({ name }) => name.toLowerCase()));
  const nameFor = (fieldName: string): string => {
    const first = `idx_${fieldName}_${collectionId}`;
    let name = first;
    for (let at = 2; names.has(name.toLowerCase()) || isTaken(name); at += 1) name = `${first}_${at}`;
    return name;
  };
  const missing = (['tokenKey', 'email'] as const).filter(
    (fieldName) => !indexes.some((index) => isIdentityIndex(index, fieldName)),
  );
  return [...missing.map((fieldName) => uniqueIndex(fieldName, nameFor(fieldName))), ...indexes];
}

function uniqueIndex(fieldName: 'tokenKey' | 'email', name: string): IndexDefinition {
  return {
    name,
    isUnique: true,
    columns: [{ name: fieldName, isNocase: false, isDescending: false }],
    where: fieldName === 'email' ? [{ column: 'email', operator: '!=', value: '' }] : [],
  };
}
