import type { RuleInput } from '../access/rule-input.ts';
import { AppError, type FieldError } from '../base/errors.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { superusersName } from '../collections/collection.ts';
import { emailField } from '../fields/email-field.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { AuthCollection } from './auth-collection.ts';

/** A request about an account, from a client that may not be signed in. */
export interface AccountRequest {
  readonly collection: string;
  readonly input: RuleInput;
  readonly body: JsonObject;
}

/**
 * Work that runs after the request was answered, so that the answer is the same, and takes the same time, whether or not there is
 * such an account. The collection may have been changed by then, so the work looks it up again.
 */
export type WorkAfterAnswer = (instance: Instance, mailer: Mailer) => Promise<void>;

/** Throws bad_request when the collection does not let accounts in by password, so that there is none to reset. */
export function requirePasswordAuth({ auth }: AuthCollection): void {
  if (!auth.passwordAuth.enabled)
    throw new AppError('bad_request', 'The collection is not configured to allow password authentication.');
}

/** Throws bad_request with this message if the collection is that of superusers, for whom the request makes no sense. */
export function refuseSuperusers({ name }: AuthCollection, message: string): void {
  if (name === superusersName) throw new AppError('bad_request', message);
}

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

/** Returns the address in a form, without the blanks around it. Throws bad_request. */
export function decodeAddress(body: JsonObject): string {
  const email = decodeForm(body, ['email']).email.trim();
  refuseForm({ email: emailProblem(email) });
  return email;
}

/** Returns the problem with the length of a required text; undefined when there is none. */
export function lengthProblem(length: number, max: number): FieldError | undefined {
  if (length === 0) return fieldError('validation_required');
  return length > max ? fieldError('validation_length_out_of_range', { min: 1, max }) : undefined;
}

/** Throws bad_request with the problems of a form's texts, if there are any. */
export function refuseForm(
  problems: Readonly<Record<string, FieldError | undefined>>,
  message = 'An error occurred while validating the submitted data.',
): void {
  const details = Object.entries(problems).flatMap(([name, problem]) =>
    problem === undefined ? [] : [[name, problem] as const],
  );
  if (details.length === 0) return;
  throw new AppError('bad_request', message, { details: Object.fromEntries(details) });
}

const lengthMax = 255;
const anyDomain = { exceptDomains: [], onlyDomains: [], required: true };

/** Returns the problem with an address in a form; undefined when there is none. */
export function emailProblem(email: string): FieldError | undefined {
  if (email.length > lengthMax)
    return fieldError('validation_length_out_of_range', { min: 1, max: lengthMax });
  return emailField.check(email, anyDomain);
}
