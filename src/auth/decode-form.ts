import { AppError, type FieldError } from '../base/errors.ts';
import { ownMember, type JsonObject } from '../base/json.ts';

/** The texts of a form by their names. One that is absent or null is empty; throws bad_request for one that is no text. */
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

/** Throws bad_request with what is wrong with the texts of a form, if anything is. */
export function refuseForm(problems: Readonly<Record<string, FieldError | undefined>>): void {
  const details = Object.entries(problems).flatMap(([name, problem]) =>
    problem === undefined ? [] : [[name, problem] as const],
  );
  if (details.length === 0) return;
  throw new AppError('bad_request', 'An error occurred while validating the submitted data.', {
    details: Object.fromEntries(details),
  });
}
