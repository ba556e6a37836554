import { AppError, type FieldError } from '../base/errors.ts';
import { ownMember, type JsonObject } from '../base/json.ts';
import { fieldError } from '../fields/field-error.ts';

/** Returns the texts of a form by name; absent and null ones are empty. Throws bad_request for one that is not text. */
export function decodeForm<Name extends string>(
  body: JsonObject,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const texts = names.map((name) => {
    const value = ownMember(body, name) ?? '';
    if (typeof value !== 'string')
      throw new AppError('bad_request', 'An error occurred while loading the submitted data.');
    return [name, value] as const;
  });
  // One entry for each of the names.
  return Object.fromEntries(texts) as Record<Name, string>;
}

/** Returns the problem with the length of a required text; undefined when there is none. */
export function lengthProblem(length: number, max: number): FieldError | undefined {
  if (length === 0) return fieldError('validation_required');
  return length > max ? fieldError('validation_length_out_of_range', { min: 1, max }) : undefined;
}

/** Throws bad_request with the problems of a form's texts, if there are any. */
export function refuseForm(problems: Readonly<Record<string, FieldError | undefined>>): void {
  const details = Object.entries(problems).flatMap(([name, problem]) =>
    problem === undefined ? [] : [[name, problem] as const],
  );
  if (details.length === 0) return;
  throw new AppError('bad_request', 'An error occurred while validating the submitted data.', {
    details: Object.fromEntries(details),
  });
}
