import type { FieldError, FieldErrors } from '../base/errors.ts';

/** What is read from a member of a body: its value, or what is wrong with it; nested for a member that has members of its own. */
export type Decoded<Value> = { readonly value: Value } | { readonly error: FieldError | FieldErrors };
