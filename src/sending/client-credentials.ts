import type { FieldError, FieldErrors } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import type { JsonSchema } from '../fields/value-schema.ts';
import { maskedValue } from './endpoint-request.ts';

/** How requests to an endpoint get a token of OAuth 2.0: by the credentials of a client (RFC 6749 section 4.4). */
export interface ClientCredentials {
  /** In its canonical form, as the URL of an endpoint. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Names of scopes with blanks between them. */
  readonly scope?: string;
  /** The audience of the token, where the authorization server has several services; not part of the RFC. */
  readonly audience?: string;
}

const clientIdLengthMax = 1_024;
const clientSecretLengthMax = 4_096;
const scopeLengthMax = 2_048;
const audienceLengthMax = 2_048;

/** The characters of an identifier and a secret (RFC 6749 appendix A.1 and A.2). */
const visible = /^[\x20-\x7e]+$/;
/** Names of scopes (appendix A.4). */
const scopes = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const withoutControl = /^[^\p{Cc}\p{Zl}\p{Zp}]+$/u;

const names = ['tokenUrl', 'clientId', 'clientSecret', 'scope', 'audience'] as const;

export const credentialsSchema: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: false,
  required: ['tokenUrl', 'clientId', 'clientSecret'],
  properties: {
    tokenUrl: { type: 'string', minLength: 1, description: 'Checked as the URL of an endpoint.' },
    clientId: { type: 'string', minLength: 1, maxLength: clientIdLengthMax },
    clientSecret: {
      type: 'string',
      minLength: 1,
      maxLength: clientSecretLengthMax,
      description: 'Shown as `********`, which keeps the stored one when it is sent back.',
    },
    scope: { type: 'string', maxLength: scopeLengthMax, description: 'Scopes with blanks between them.' },
    audience: { type: 'string', maxLength: audienceLengthMax },
  },
  description:
    'Client credentials of OAuth 2.0: requests carry a token that is fetched with them. Not with a header `authorization`.',
};

export interface CredentialsContext {
  /** The current credentials of the endpoint. */
  readonly existing: ClientCredentials | null;
  readonly decodeUrl: (value: unknown) => DecodedValue<string>;
}

/** Returns the validated credentials, or the problem of each member, by name. */
export function decodeCredentials(
  raw: unknown,
  { existing, decodeUrl }: CredentialsContext,
): DecodedValue<ClientCredentials | null> {
  if (raw === null) return { value: null };
  if (!isJsonObject(raw)) return { error: invalidValue('Must be null or an object.') };
  const errors: Record<string, FieldError | FieldErrors> = { ...unknownMembers(raw, names) };
  const url = decodeUrl(raw['tokenUrl'] ?? '');
  const tokenUrl = 'value' in url ? url.value : '';
  if ('error' in url) errors['tokenUrl'] = url.error;
  const read = (name: (typeof names)[number], rule: TextRule): string => {
    const decoded = decodeText(raw[name] ?? '', rule);
    if ('value' in decoded) return decoded.value;
    errors[name] = decoded.error;
    return '';
  };
  const clientId = read('clientId', { pattern: visible, lengthMax: clientIdLengthMax, isRequired: true });
  const isKept = raw['clientSecret'] === maskedValue;
  if (isKept && tokenUrl !== '' && !isSameServer(tokenUrl, existing))
    errors['clientSecret'] = invalidValue('Must be set again: this server has never received it.');
  const clientSecret = isKept
    ? (existing?.clientSecret ?? '')
    : read('clientSecret', { pattern: visible, lengthMax: clientSecretLengthMax, isRequired: true });
  const scope = read('scope', { pattern: scopes, lengthMax: scopeLengthMax, isRequired: false });
  const audience = read('audience', {
    pattern: withoutControl,
    lengthMax: audienceLengthMax,
    isRequired: false,
  });
  if (Object.keys(errors).length > 0) return { error: errors };
  const optional = { ...(scope !== '' && { scope }), ...(audience !== '' && { audience }) };
  return { value: { tokenUrl, clientId, clientSecret, ...optional } };
}

/** A masked secret is sent only to the server for which it was set. */
function isSameServer(tokenUrl: string, existing: ClientCredentials | null): boolean {
  return existing !== null && new URL(tokenUrl).origin === new URL(existing.tokenUrl).origin;
}

interface TextRule {
  readonly pattern: RegExp;
  readonly lengthMax: number;
  readonly isRequired: boolean;
}

function decodeText(
  value: unknown,
  { pattern, lengthMax, isRequired }: TextRule,
): { readonly value: string } | { readonly error: FieldError } {
  if (value === '') return isRequired ? { error: fieldError('validation_required') } : { value };
  if (typeof value === 'string' && value.length <= lengthMax && pattern.test(value)) return { value };
  const what = pattern === scopes ? 'names of scopes with one blank between them' : 'printable text';
  return { error: invalidValue(`Must be ${what}, of at most ${lengthMax} characters.`) };
}

/** Returns credentials as the API shows them. */
export function maskCredentials(credentials: ClientCredentials | null): ClientCredentials | null {
  return credentials === null ? null : { ...credentials, clientSecret: maskedValue };
}
