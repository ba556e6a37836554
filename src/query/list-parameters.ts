import { AppError } from '../base/errors.ts';
import { invalidValue } from '../fields/field-error.ts';

export const listLimits = {
  perPageDefault: 30,
  perPageMax: 1_000,
  /** 2^31 − 1, so that page × perPage stays an exact number everywhere. */
  pageMax: 2_147_483_647,
  /** As long as all headers of a request may be. Only the URLs inside a batch could be longer. */
  fieldsLengthMax: 16_384,
  /** How much of a text is read for an excerpt, in UTF-16 units: a page may have a thousand excerpts. */
  excerptSourceLengthMax: 1_048_576,
} as const;

/** Returns the error for a list parameter, under its name in the query. */
export function parameterError(name: string, message: string): AppError {
  return new AppError('bad_request', message, { details: { [name]: invalidValue(message) } });
}

/** Returns the boolean that a word means to Go's strconv.ParseBool, on which the clients of this API rely; undefined for other words. */
export function booleanOf(word: string): boolean | undefined {
  return booleans.get(word);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((word) => [word, false] as const),
]);
