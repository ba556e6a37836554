import type { FieldError } from '../base/errors.ts';
import { type JsonObject, ownMember } from '../base/json.ts';
import { fieldError } from '../fields/field-error.ts';
import { signByEllipticKey } from '../secrets/sign-by-elliptic-key.ts';
import { decodeForm, lengthProblem, refuseForm } from './account-request.ts';

/** Half a year: Apple takes no longer ones. */
const durationMax = 15_777_000;
const idLength = 10;
const clientIdLengthMax = 255;
const keyLengthMax = 4_096;
const refused = 'Invalid client secret data.';

/**
 * Returns the client secret that Apple wants: a token signed with a key that a developer gets from it. Nothing of it is stored. Throws
 * bad_request.
 */
export function makeAppleSecret(body: JsonObject, now: number): string {
  const form = decodeForm(body, ['clientId', 'teamId', 'keyId', 'privateKey']);
  const duration = ownMember(body, 'duration') ?? 0;
  const problems = {
    clientId: lengthProblem(form.clientId.length, clientIdLengthMax),
    teamId: idProblem(form.teamId),
    keyId: idProblem(form.keyId),
    privateKey: lengthProblem(form.privateKey.length, keyLengthMax),
    duration: durationProblem(duration),
  };
  refuseForm(problems, refused);
  const issued = Math.floor(now / 1_000);
  const header = { alg: 'ES256', kid: form.keyId, typ: 'JWT' };
  const claims = {
    iss: form.teamId,
    sub: form.clientId,
    aud: ['https://appleid.apple.com'],
    exp: issued + Number(duration),
    iat: issued,
  };
  const signed = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = signByEllipticKey(signed, form.privateKey);
  refuseForm(
    { privateKey: signature === undefined ? fieldError('validation_match_invalid') : undefined },
    refused,
  );
  return `${signed}.${signature ?? ''}`;
}

function idProblem(text: string): FieldError | undefined {
  if (text === '') return fieldError('validation_required');
  return text.length === idLength
    ? undefined
    : fieldError('validation_length_invalid', { min: idLength, max: idLength });
}

function durationProblem(duration: unknown): FieldError | undefined {
  if (duration === 0) return fieldError('validation_required');
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < 0)
    return fieldError('validation_match_invalid');
  return duration > durationMax
    ? fieldError('validation_max_less_equal_than_required', { threshold: durationMax })
    : undefined;
}
