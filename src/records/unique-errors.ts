import { AppError, type FieldError } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { UniqueViolation } from '../storage/engine-errors.ts';
import { physicalColumn, physicalName } from '../storage/postgres-names.ts';

const notUnique: FieldError = { code: 'validation_not_unique', message: 'Value must be unique.' };

/** Passes a write on; when a unique index refuses it, says so of every field of that index. */
export async function withUniqueErrors<Result>(
  write: Promise<Result>,
  collection: Collection,
  failed: string,
): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    const details = columnsOf(error, collection).map((name) => [name, notUnique] as const);
    throw new AppError('bad_request', failed, { details: Object.fromEntries(details), cause: error });
  }
}

/** The names that the owner knows: an engine may call what has a long name by another. */
function columnsOf(error: UniqueViolation, collection: Collection): readonly string[] {
  if (error.index !== undefined) {
    const index = collection.indexes.find(({ name }) =>
      [name, physicalName(name)].includes(error.index ?? ''),
    );
    return index?.columns.map((column) => column.name) ?? [];
  }
  return error.columns.map(
    (column) =>
      collection.fields.find(({ name }) => [name, physicalColumn(name)].includes(column))?.name ?? column,
  );
}
