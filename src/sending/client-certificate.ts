import type { FieldError, FieldErrors } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import type { JsonSchema } from '../fields/value-schema.ts';
import { type Certificate, checkPrivateKey, readCertificates } from '../secrets/read-certificates.ts';
import { maskedValue } from './endpoint-request.ts';

/** What a receiver is shown in the TLS handshake (mutual TLS). */
export interface ClientCertificate {
  /** PEM: the certificate, and those between it and an authority. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  readonly subject: string;
  readonly issuer: string;
  /** SHA-256 of the certificate, as `AA:BB:…`. */
  readonly fingerprint: string;
  readonly expires: Timestamp;
}

const pemLengthMax = 16_384;
const certificatesMax = 10;

const text: JsonSchema = { type: 'string' };

export const clientCertificateSchema: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: false,
  required: ['certificate', 'key'],
  properties: {
    certificate: {
      type: 'string',
      minLength: 1,
      maxLength: pemLengthMax,
      description: 'PEM: the certificate, then those between it and an authority.',
    },
    key: {
      type: 'string',
      minLength: 1,
      maxLength: pemLengthMax,
      description:
        'PEM, not encrypted. Shown as `********`, which keeps the stored one when it is sent back.',
    },
    subject: { ...text, description: 'Read from the certificate, as the members that follow.' },
    issuer: text,
    fingerprint: { ...text, description: 'SHA-256 of the certificate.' },
    expires: text,
  },
  description: 'The certificate that the receiver is shown in the TLS handshake (mutual TLS).',
};

export const authoritiesSchema: JsonSchema = {
  type: 'string',
  maxLength: pemLengthMax,
  description: `PEM: up to ${certificatesMax} certificates that the receiver's must lead to, in place of the system's. Empty for those.`,
};

/** Members that only responses have. They are ignored, so that a response may be sent back. */
const responseNames = ['subject', 'issuer', 'fingerprint', 'expires'];

export interface CertificateContext {
  /** The current certificate of the endpoint. */
  readonly existing: ClientCertificate | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Returns the validated certificate and its key, or the problem of each member, by name. */
export function decodeClientCertificate(
  raw: unknown,
  { existing, now }: CertificateContext,
): DecodedValue<ClientCertificate | null> {
  if (raw === null) return { value: null };
  if (!isJsonObject(raw)) return { error: invalidValue('Must be null or an object.') };
  const errors: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(raw, ['certificate', 'key'], responseNames),
  };
  const chain = decodeChain(raw['certificate'] ?? '', { isRequired: true });
  const key = decodeKey(raw['key'] ?? '', existing);
  if ('error' in chain) errors['certificate'] = chain.error;
  if ('error' in key) errors['key'] = key.error;
  const [leaf] = 'value' in chain ? chain.value : [];
  if ('error' in chain || 'error' in key || leaf === undefined) return { error: errors };
  const certificate = chain.value.map(({ pem }) => pem).join('');
  const timeProblem = certificate === existing?.certificate ? undefined : problemOfTime(leaf, now);
  if (timeProblem !== undefined) errors['certificate'] = invalidValue(timeProblem);
  const check = checkPrivateKey(key.value, leaf);
  if (check.kind === 'refused') errors[check.of] ??= invalidValue(check.problem);
  if (check.kind === 'refused' || Object.keys(errors).length > 0) return { error: errors };
  const { subject, issuer, fingerprint, expires } = leaf;
  return { value: { certificate, key: check.key, subject, issuer, fingerprint, expires } };
}

function decodeKey(
  raw: unknown,
  existing: ClientCertificate | null,
): { readonly value: string } | { readonly error: FieldError } {
  if (raw === '') return { error: fieldError('validation_required') };
  if (raw === maskedValue && existing === null)
    return { error: invalidValue('Must be set: the endpoint has no key.') };
  if (raw === maskedValue) return { value: existing?.key ?? '' };
  if (typeof raw === 'string' && raw.length <= pemLengthMax) return { value: raw };
  return { error: invalidValue(`Must be text of at most ${pemLengthMax} characters.`) };
}

function problemOfTime({ validFrom, expires }: Certificate, now: number): string | undefined {
  if (fromTimestamp(expires) <= now) return `Expired on ${expires}.`;
  return fromTimestamp(validFrom) > now ? `Is not valid before ${validFrom}.` : undefined;
}

/** Returns the certificates of a PEM text in canonical form. A private key among them would be shown with them. */
function decodeChain(
  raw: unknown,
  { isRequired }: { readonly isRequired: boolean },
): { readonly value: readonly Certificate[] } | { readonly error: FieldError } {
  if (raw === '') return isRequired ? { error: fieldError('validation_required') } : { value: [] };
  if (typeof raw !== 'string' || raw.length > pemLengthMax)
    return { error: invalidValue(`Must be text of at most ${pemLengthMax} characters.`) };
  if (raw.includes('PRIVATE KEY')) return { error: invalidValue('Must not contain a private key.') };
  const certificates = readCertificates(raw);
  if ('damaged' in certificates)
    return { error: invalidValue(`Certificate ${certificates.damaged} cannot be read.`) };
  if (certificates.length === 0) return { error: invalidValue('Must be a certificate in PEM.') };
  if (certificates.length > certificatesMax)
    return { error: invalidValue(`Must be at most ${certificatesMax} certificates.`) };
  return { value: certificates };
}

/** Returns the authorities of an endpoint in canonical form; empty for those of the system. */
export function decodeAuthorities(raw: unknown): DecodedValue<string> {
  const chain = decodeChain(raw, { isRequired: false });
  return 'error' in chain ? chain : { value: chain.value.map(({ pem }) => pem).join('') };
}

const warningDays = 30;

/** Returns warnings about a certificate that ends soon. */
export function certificateWarnings(client: ClientCertificate | null, now: number): readonly string[] {
  if (client === null || fromTimestamp(client.expires) - now > warningDays * 86_400_000) return [];
  return [`The client certificate expires on ${client.expires}.`];
}

/** Returns a certificate as the API shows it. */
export function maskClientCertificate(client: ClientCertificate | null): ClientCertificate | null {
  return client === null ? null : { ...client, key: maskedValue };
}
