import type { RuleInput } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { chosenTexts, type ChosenTextsOptions } from '../fields/chosen-texts.ts';
import type { Field } from '../fields/field.ts';
import { isBlobName } from '../files/blob-store.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { admission } from './check-rule.ts';
import { findAllowed, findRecord } from './find-record.ts';
import { isMultiple } from '../query/path.ts';
import { baseAlias } from '../query/record-scope.ts';
import { joinSql, limit, sql } from '../sql/sql.ts';
import { recordTable } from './record-table.ts';
import { type StoredRecord, valueOf } from './record.ts';

/** A file that a record names, with the options of its field. */
export interface RecordFile {
  /** The key of its blob. */
  readonly key: string;
  readonly isProtected: boolean;
  /** Sizes in which images may be requested. */
  readonly thumbs: readonly string[];
}

export interface NamedFile {
  readonly collection: string;
  readonly record: string;
  readonly name: string;
}

/**
 * Returns a file if its record names it, and, where it is protected, if the caller may view the record; `findInput` authenticates
 * the caller. Undefined for everything else, whatever the reason, so that the answer reveals nothing.
 */
export function findRecordFile(
  instance: Instance,
  { collection: name, record: id, name: fileName }: NamedFile,
  findInput: () => Promise<RuleInput>,
): Promise<RecordFile | undefined> {
  return unlessRefused(() =>
    readCurrentCollection(instance, name, async (collection) => {
      // Names that an import has taken over may be of any form.
      if (![collection.id, id, fileName].every(isBlobName)) return undefined;
      const record = await findRecord(instance.database, collection, id);
      const field = record && fieldOfFile(record, fileName);
      if (field === undefined) return undefined;
      const isProtected = field.options['protected'] === true;
      if (isProtected && !(await mayView(instance, { collection, id }, await findInput()))) return undefined;
      const owner = await findOwner(instance, { collection, field, id, fileName });
      if (owner === undefined) return undefined;
      return { key: `${owner}/${fileName}`, isProtected, thumbs: thumbsOf(field) };
    }),
  );
}

interface ShownFile {
  readonly collection: Collection;
  readonly field: Field;
  readonly id: string;
  readonly fileName: string;
}

/** Returns the collection and the record that a file belongs to. A view shows those of other records, often of the one with the same id. */
async function findOwner(
  { collections, database }: Instance,
  { collection, field, id, fileName }: ShownFile,
): Promise<string | undefined> {
  if (collection.type !== 'view') return `${collection.id}/${id}`;
  const { names } = database;
  const at = collection.view?.files[field.name];
  const source = at && collections.find(at.collection);
  const own = source?.fields.find(({ name }) => name === at?.field);
  if (source === undefined || own === undefined) return undefined;
  const same = await findRecord(database, source, id);
  if (same !== undefined && fieldOfFile(same, fileName) !== undefined) return `${source.id}/${id}`;
  const column = sql`${baseAlias}.${names.column(own.name)}`;
  const isIn = isMultiple(own)
    ? sql`EXISTS (SELECT 1 FROM ${names.dialect.each(column, file)} WHERE ${names.dialect.valueOfEach(file).sql} = ${fileName})`
    : sql`${column} = ${fileName}`;
  const isInTime = names.isInTime(sql`${baseAlias}."$position"`, 'for some');
  const where = joinSql(isInTime === undefined ? [isIn] : [isInTime, isIn], ' AND ');
  const { from } = recordTable(source).statements(names).joined;
  const [row] = await database.search(sql`SELECT ${baseAlias}.id FROM ${from} WHERE ${where}${limit(1)}`);
  return row && `${source.id}/${String(row[0])}`;
}

const file = sql`"$file"`;

/** Returns the field that names the file. */
function fieldOfFile(record: StoredRecord, fileName: string): Field | undefined {
  return record.collection.fields.find((field) => {
    if (field.type !== 'file') return false;
    // The cast holds: a file field decodes its options to these and more.
    const options = field.options as ChosenTextsOptions;
    return chosenTexts.read(valueOf(record, field.name) ?? null, options)?.includes(fileName) === true;
  });
}

function thumbsOf({ options }: Field): readonly string[] {
  // The cast holds: a file field decodes this option to a list of texts.
  return options['thumbs'] as readonly string[];
}

async function mayView(
  instance: Instance,
  { collection, id }: { readonly collection: Collection; readonly id: string },
  input: RuleInput,
): Promise<boolean> {
  const request = { instance, input: { ...input, context: 'protectedFile' } } as const;
  const rule = admission(request, collection, 'viewRule');
  return (await findAllowed(instance.database, rule, id)) !== undefined;
}

/** Errors that reveal something of collections, records and rules. Any other, such as one for too many requests, does not. */
const revealing: ReadonlySet<string> = new Set(['not_found', 'forbidden', 'broken_rule', 'bad_request']);

async function unlessRefused<Result>(find: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof AppError && revealing.has(error.code)) return undefined;
    throw error;
  }
}
