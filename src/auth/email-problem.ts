import type { FieldError } from '../base/errors.ts';
import { emailField } from '../fields/email-field.ts';
import { fieldError } from '../fields/field-error.ts';

const lengthMax = 255;
const anyDomain = { exceptDomains: [], onlyDomains: [], required: true };

/** Returns the problem with an address in a form; undefined when there is none. */
export function emailProblem(email: string): FieldError | undefined {
  if (email.length > lengthMax)
    return fieldError('validation_length_out_of_range', { min: 1, max: lengthMax });
  return emailField.check(email, anyDomain);
}
