import type { FieldError, FieldErrors } from '../base/errors.ts';

/** A problem and where it is: names of members and numbers of items, from the outside in. */
export interface ProblemPlace {
  readonly path: readonly string[];
  readonly error: FieldError;
}

/** Every problem, however deep it stands. */
export function problemPlaces(errors: FieldErrors, path: readonly string[] = []): readonly ProblemPlace[] {
  return Object.entries(errors).flatMap(([name, error]) =>
    isFieldError(error) ? [{ path: [...path, name], error }] : problemPlaces(error, [...path, name]),
  );
}

function isFieldError(error: FieldError | FieldErrors): error is FieldError {
  return typeof error.code === 'string';
}
