import type { FieldError, FieldErrors } from '../base/errors.ts';

/** A problem and its path: names of members and numbers of items, from the outside in. */
export interface ProblemPlace {
  readonly path: readonly string[];
  readonly error: FieldError;
}

/** Flattens nested errors into a list of problems with their paths. */
export function problemPlaces(errors: FieldErrors, path: readonly string[] = []): readonly ProblemPlace[] {
  return Object.entries(errors).flatMap(([name, error]) =>
    isFieldError(error) ? [{ path: [...path, name], error }] : problemPlaces(error, [...path, name]),
  );
}

function isFieldError(error: FieldError | FieldErrors): error is FieldError {
  return typeof error.code === 'string';
}
