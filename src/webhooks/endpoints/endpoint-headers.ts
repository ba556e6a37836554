import type { FieldError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Decoded } from '../../fields/decoded.ts';
import { invalidValue } from '../../fields/field-error.ts';
import { endpointLimits } from './endpoint-limits.ts';

const { headersMax, headerValueLengthMax } = endpointLimits;

/** What a header name may consist of (RFC 9110 section 5.6.2). */
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Printable ASCII with spaces inside: every server understands it, and it cannot end the header line. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const RESERVED =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-.*|accept-encoding|user-agent|webhook-.*|x-service-.*)$/i;

/** True for headers of the connection (RFC 9110 section 7.6.1), of the body or of the signature, which the service sets itself. */
export function isReservedHeader(name: string): boolean {
  return RESERVED.test(name);
}

/** Shown in place of a secret value; when a client sends it back, the stored value stays. */
export const maskedValue = '********';

/** True for lower-case names whose values are never shown after they were set. */
export function isSecretHeader(name: string): boolean {
  return /auth|cookie|token|secret|key|password|signature/.test(name);
}

/** Returns the checked headers with their names in lower case, or what is wrong with each, by name. */
export function decodeHeaders(
  raw: unknown,
  existing: Readonly<Record<string, string>>,
): Decoded<Readonly<Record<string, string>>> {
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
  return Object.keys(errors).length > 0 ? { error: errors } : { value: Object.fromEntries(headers) };
}

function headerProblem(name: string, value: unknown): string | undefined {
  if (!NAME.test(name)) return 'Must be a header name.';
  if (isReservedHeader(name)) return 'This header is set by the service itself.';
  if (typeof value !== 'string' || value.length > headerValueLengthMax || !VALUE.test(value)) {
    return `Must be printable ASCII text of at most ${headerValueLengthMax} characters.`;
  }
  return undefined;
}
