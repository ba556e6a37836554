import type { FieldError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { identifier } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import { RefusedWrite } from './refused-write.ts';

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
    const found = collection.indexes.find(({ name }) => names.bareName(name).text === called);
    return found?.columns.map((column) => column.name) ?? [];
  }
  return error.columns.map((column) => {
    const called = identifier(column).text;
    return collection.fields.find(({ name }) => names.column(name).text === called)?.name ?? column;
  });
}
