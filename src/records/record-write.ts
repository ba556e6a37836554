import type { RuleInput } from '../access/rule-input.ts';
import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { mayWriteField } from '../fields/field.ts';
import { currentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { identifier } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import type { StoredRecord } from './record.ts';

/**
 * A change of records has two parts. `prepare…` does what needs no transaction: it finds the collection, rejects callers under a null
 * rule, hashes passwords and reserves the keys of files. It returns a value. The operation does the rest with it in a
 * transaction, alone or after others, and looks the collection up again: while the write waited for its turn, the definition may have
 * changed or the name passed to another collection.
 *
 *   prepareCreate ──► PreparedCreate ──► database.write((tx) => createRecord({ ...request, tx }, prepared))
 *   prepareBatch  ──► PreparedBatch, whose operations run one after the other in one commit
 */
export interface WriteRequest {
  readonly instance: Instance;
  readonly input: RuleInput;
}

/** The transaction in which a change happens, and the request for it. */
export interface WriteScope extends WriteRequest {
  readonly tx: Transaction;
}

/**
 * The write of a record is rejected; `details` has the fields at fault, if its values are. {@link refusedAs} adds the message
 * that names the operation.
 */
export class RefusedWrite extends AppError {
  constructor(details: FieldErrors = {}, cause?: unknown) {
    super('bad_request', 'The record cannot be written.', { details, cause });
  }
}

/** As `currentCollection`, of records that are written. Throws bad_request for a view. */
export async function writtenCollection(
  ...request: Parameters<typeof currentCollection>
): Promise<Collection> {
  const [instance, nameOrId] = request;
  const current = instance.collections.find(nameOrId);
  // Before its rules, which are closed to all.
  const collection = current?.type === 'view' ? current : await currentCollection(...request);
  if (collection.type === 'view') throw new AppError('bad_request', 'Unsupported collection type.');
  return collection;
}

/** Throws RefusedWrite if any field has a problem. */
export function refuseProblems(problems: ReadonlyMap<string, FieldError>): void {
  if (problems.size > 0) throw new RefusedWrite(Object.fromEntries(problems));
}

/**
 * Passes the write's result on; when it is refused, throws bad_request with this message and the problems of all fields but those
 * that `isHidden`.
 */
export function refusedAs<Result>(
  message: string,
  write: Promise<Result>,
  isHidden: (name: string) => boolean = () => false,
): Promise<Result> {
  return write.catch((error: unknown) => {
    if (!(error instanceof RefusedWrite)) throw error;
    const { details: all, cause } = error;
    const details = Object.fromEntries(Object.entries(all).filter(([name]) => !isHidden(name)));
    throw new AppError('bad_request', message, { details, cause });
  });
}

/** Returns whether a name is that of a field that the caller must not see. A problem would reveal the name. */
export function hiddenFrom({ instance, input }: WriteScope, collection: string): (name: string) => boolean {
  const isSuperuser = input.caller.kind === 'superuser';
  return (name) =>
    instance.collections
      .find(collection)
      ?.fields.some((field) => field.name === name && !mayWriteField(field, isSuperuser)) === true;
}

const notUnique: FieldError = { code: 'validation_not_unique', message: 'Value must be unique.' };

/**
 * Passes the write's result on; when a unique index refuses it, throws RefusedWrite with an error for every field of that index.
 */
export async function withUniqueErrors<Result>(
  write: Promise<Result>,
  collection: Collection,
  names: Names,
): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    const details = columnsOf(error, collection, names).map((name) => [name, notUnique] as const);
    throw new RefusedWrite(Object.fromEntries(details), error);
  }
}

/** Returns the columns by the names that the owner knows: an engine may store a long name as another. */
function columnsOf(error: UniqueViolation, collection: Collection, names: Names): readonly string[] {
  const { index } = error;
  if (index !== undefined) {
    const called = identifier(index).text;
    const match = collection.indexes.find(({ name }) => names.bareName(name).text === called);
    return match?.columns.map((column) => column.name) ?? [];
  }
  return error.columns.map((column) => {
    const called = identifier(column).text;
    return collection.fields.find(({ name }) => names.column(name).text === called)?.name ?? column;
  });
}

/** The revisions that a client expects of the record it changes (If-Match); `any` only expects that the record exists. */
export type ExpectedRevision = 'any' | readonly number[];

/** Throws precondition_failed when the record, or its absence, is not what was expected. Undefined expects nothing. */
export function requireExpected(
  expected: ExpectedRevision | undefined,
  existing: StoredRecord | undefined,
): void {
  if (expected === undefined) return;
  if (existing !== undefined && (expected === 'any' || expected.includes(existing.revision))) return;
  throw new AppError('precondition_failed', 'The record has changed.');
}
