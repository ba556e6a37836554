import type { FieldError, FieldErrors } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { invalidValue } from '../fields/field-error.ts';
import { endpointLimits } from './endpoint-limits.ts';

const { headersMax, headerValueLengthMax } = endpointLimits;

/** RFC 9110 section 5.6.2: what a name may consist of. */
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Printable ASCII with spaces inside: what every server understands, and no way to end the line. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const RESERVED =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-.*|accept-encoding|user-agent|webhook-.*|x-service-.*)$/i;

/** Whether a header is one of the connection (RFC 9110 section 7.6.1), of the body, or of the signature: these are ours. */
export function isReservedHeader(name: string): boolean {
  return RESERVED.test(name);
}

/** Shown instead of a value that is not shown again; sent back, it means the value that is there. */
export const maskedValue = '********';

/** Names whose values are shown to nobody after they were set. */
export function isSecretHeader(name: string): boolean {
  return /auth|cookie|token|secret|key|password|signature/.test(name);
}

/** Checked headers with their names in lower case, or what is wrong, by name. */
export function decodeHeaders(
  raw: unknown,
  existing: Readonly<Record<string, string>>,
): { readonly headers: Readonly<Record<string, string>> } | { readonly error: FieldError | FieldErrors } {
  if (!isJsonObject(raw)) return { error: invalidValue('Must be an object.') };
  const entries = Object.entries(raw);
  if (entries.length > headersMax) return { error: invalidValue(`Must be at most ${headersMax} headers.`) };
  const headers = new Map<string, string>();
  const errors: Record<string, FieldError> = {};
  for (const [written, value] of entries) {
    const name = written.toLowerCase();
    const known: unknown = value === maskedValue ? existing[name] : value;
    const problem = headerProblem(name, known);
    if (problem !== undefined) errors[written] = invalidValue(problem);
    else if (typeof known === 'string') headers.set(name, known);
  }
  return Object.keys(errors).length > 0 ? { error: errors } : { headers: Object.fromEntries(headers) };
}

function headerProblem(name: string, value: unknown): string | undefined {
  if (!NAME.test(name)) return 'Must be a header name.';
  if (isReservedHeader(name)) return 'This header is set by the service itself.';
  if (typeof value !== 'string' || value.length > headerValueLengthMax || !VALUE.test(value)) {
    return `Must be printable ASCII text of at most ${headerValueLengthMax} characters.`;
  }
  return undefined;
}
