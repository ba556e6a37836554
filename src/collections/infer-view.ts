import { crc32 } from 'node:zlib';
import type { FieldError, FieldErrors } from '../base/errors.ts';
import { decodeField, type Field, fieldColumn, hasColumn, idField } from '../fields/field.ts';
import { readSelect, type SelectColumn, type SelectText } from '../sql/select-text.ts';
import type { QueryColumn, ViewDescription, ViewDraft } from '../storage/view-query.ts';
import { type Collection, collectionLimits, type FileSource, type ViewOptions } from './collection.ts';

/** What is known of queries of views. */
export interface ViewReader {
  readonly describe: (draft: ViewDraft) => ViewDescription;
  /** Returns what is wrong with the ids of its rows, if anything is. */
  readonly idProblem: (draft: ViewDraft) => string | undefined;
}

export interface InferredView {
  readonly fields: readonly Field[];
  readonly view: ViewOptions;
  readonly draft: ViewDraft;
}

/**
 * Infers the fields of a view. A column that is one of a collection is the field of that collection; what a query computes is known by
 * COUNT, TOTAL and CAST, and is a json value otherwise. Returns the problem of a query that cannot be a view's.
 */
export function inferView(
  query: string,
  collections: readonly Collection[],
  reader: Pick<ViewReader, 'describe'>,
): InferredView | string {
  const select = readSelect(query);
  if (typeof select === 'string') return select;
  const draft = draftOf(select, collections);
  const description = reader.describe(draft);
  if ('problem' in description) return description.problem;
  const { columns } = description;
  if (columns.length > collectionLimits.fieldsMax)
    return `a view can have at most ${collectionLimits.fieldsMax} columns`;
  const byName = new Map(collections.map((one) => [one.name.toLowerCase(), one]));
  const fields: Field[] = [];
  const files: Record<string, FileSource> = {};
  let hasPlainId = false;
  for (const [index, column] of columns.entries()) {
    const source = sourceOf(column, byName, select);
    const type = select.columns?.[index] ?? 'other';
    const field = toField(column.name, type, type === 'column' ? source : undefined);
    if (typeof field === 'string') return `invalid field "${column.name}" (${index}): ${field}`;
    if (fields.some(({ name }) => name.toLowerCase() === field.name.toLowerCase()))
      return `invalid field "${column.name}" (${index}): the name is already in use`;
    fields.push(field);
    if (field.name === 'id')
      hasPlainId = type === 'column' && source !== undefined && fieldColumn(source.field) === 'text';
    if (field.type === 'file' && source !== undefined) files[field.name] = fileSource(source);
  }
  if (!fields.some(({ name }) => name === 'id'))
    return "missing required id column (you can use `(ROW_NUMBER() OVER()) as id` if you don't have one)";
  const reads = description.reads.flatMap((name) => byName.get(name.toLowerCase())?.id ?? []);
  return { fields, view: { query, hasPlainId, reads, files }, draft };
}

const clonePrefix = '_clone_';

/** Whether a field of a view is one of a collection. */
export function isClone({ id }: Field): boolean {
  return id.startsWith(clonePrefix);
}

/** Returns a query with the collections that it may name. */
function draftOf({ text, words }: SelectText, collections: readonly Collection[]): ViewDraft {
  const tables = collections
    .filter(({ name }) => words.has(name.toLowerCase()))
    .map(({ name, fields }) => ({
      name,
      columns: fields
        .filter(hasColumn)
        .map((field) => ({ name: field.name, kind: fieldColumn(field) ?? 'text' })),
    }));
  return { query: text, tables };
}

interface FieldSourceOfView {
  readonly collection: Collection;
  readonly field: Field;
}

function sourceOf(
  { from }: QueryColumn,
  byName: ReadonlyMap<string, Collection>,
  { isCompound }: SelectText,
): FieldSourceOfView | undefined {
  const collection = from && !isCompound ? byName.get(from.table.toLowerCase()) : undefined;
  const field = collection?.fields.find(({ name }) => name.toLowerCase() === from?.column.toLowerCase());
  return collection && field && { collection, field };
}

/** A file that a view of a view shows is where the inner one has it. */
function fileSource({ collection, field }: FieldSourceOfView): FileSource {
  return collection.view?.files[field.name] ?? { collection: collection.id, field: field.name };
}

function toField(name: string, type: SelectColumn, source: FieldSourceOfView | undefined): Field | string {
  const problems: string[] = [];
  const field = decodeField(definitionOf(name, type, source), {
    add: (option, error) => problems.push(`${option}: ${messageOf(error)}`),
  });
  return field ?? problems.join('; ');
}

function definitionOf(
  name: string,
  type: SelectColumn,
  source: FieldSourceOfView | undefined,
): Readonly<Record<string, unknown>> {
  if (name === 'id') {
    const { options, ...common } = idField();
    return { ...options, ...common, min: 0, max: 0, autogeneratePattern: '' };
  }
  // An `id` of another collection is a relation to it.
  if (source?.field.name === 'id')
    return { name, type: 'relation', collectionId: source.collection.id, maxSelect: 1 };
  if (source !== undefined) {
    const { options, ...common } = source.field;
    // The same each time, so that a view that has not changed is the same.
    return { ...options, ...common, name, id: `${clonePrefix}${crc32(name).toString(36)}`, system: false };
  }
  if (type === 'integer') return { name, type: 'number', onlyInt: true };
  if (type === 'number' || type === 'text' || type === 'bool') return { name, type };
  return { name, type: 'json', maxSize: 1 };
}

function messageOf({ message }: FieldError | FieldErrors): string {
  return typeof message === 'string' ? message : 'invalid';
}
