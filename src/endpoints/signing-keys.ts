import { AppError } from '../base/errors.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { Sealer } from '../secrets/seal.ts';
import { newSigningKey, type SigningKey } from '../secrets/signing-key.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { overlapSecondsInitial, overlapSecondsMax } from './endpoint.ts';

interface DatedKey extends SigningKey {
  readonly created: Timestamp;
}

/**
 * The keys of an instance for asymmetric signatures (`v1a` of Standard Webhooks): one for all of its endpoints, so that a receiver of
 * several needs one public key. They are made when an endpoint first asks for such signatures.
 */
export interface SigningKeys {
  /** Which rotation made them; a later one has a higher number. */
  readonly rotation: number;
  readonly current: DatedKey;
  /** Signs beside the current one until `previousUntil`; null without a rotation. */
  readonly previous: DatedKey | null;
  /** Empty without a previous one. It may have passed. */
  readonly previousUntil: Timestamp;
}

const setting = 'signing-keys';
const place = { purpose: 'webhook-signing-keys', id: '' };

export async function readSigningKeys(reader: Reader, sealer: Sealer): Promise<SigningKeys | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = ${setting}`,
  );
  // Only `writeSigningKeys` seals for this place.
  return row === undefined ? undefined : (JSON.parse(sealer.open(String(row[0]), place)) as SigningKeys);
}

export async function writeSigningKeys(tx: Transaction, sealer: Sealer, keys: SigningKeys): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value)
    VALUES (${names.instance.value}${setting}, ${sealer.seal(JSON.stringify(keys), place)})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
}

/** Returns the keys after a rotation, or the first ones. */
export function rotatedKeys(
  keys: SigningKeys | undefined,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): SigningKeys {
  const isOverlap = keys !== undefined && overlapMs > 0;
  return {
    rotation: (keys?.rotation ?? 0) + 1,
    current: { ...newSigningKey(), created: toTimestamp(nowMs) },
    previous: isOverlap ? keys.current : null,
    previousUntil: isOverlap ? toTimestamp(nowMs + overlapMs) : '',
  };
}

/** Returns the keys that sign at a time: the current one first, and during the overlap of a rotation the previous one. */
export function keysAt(keys: SigningKeys | undefined, nowMs: number): readonly DatedKey[] {
  if (keys === undefined) return [];
  const { current, previous, previousUntil } = keys;
  return previous !== null && nowMs < fromTimestamp(previousUntil) ? [current, previous] : [current];
}

/** The prefix of public keys in Standard Webhooks. */
const publicPrefix = 'whpk_';

/** A public key in answers of the API. */
export interface PublicKeyView {
  readonly id: string;
  readonly publicKey: string;
  readonly created: Timestamp;
  /** Until when it signs; empty for the current one. */
  readonly until: Timestamp;
}

export function publicKeys(keys: SigningKeys | undefined, nowMs: number): readonly PublicKeyView[] {
  return keysAt(keys, nowMs).map((key) => ({
    id: key.id,
    publicKey: publicPrefix + Buffer.from(key.x, 'base64url').toString('base64'),
    created: key.created,
    until: key === keys?.previous ? keys.previousUntil : '',
  }));
}

/** Returns the public keys as a JWK Set (RFC 7517, RFC 8037). */
export function jwkSet(keys: SigningKeys | undefined, nowMs: number): object {
  const members = { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' } as const;
  return { keys: keysAt(keys, nowMs).map(({ id, x }) => ({ ...members, kid: id, x })) };
}

/** Reads how long the previous key also signs after a rotation. Throws bad_request. */
export function decodeKeyOverlap(raw: Readonly<Record<string, unknown>>): number {
  const { overlapSeconds = overlapSecondsInitial } = raw;
  const isDuration = Number.isInteger(overlapSeconds) && Number(overlapSeconds) >= 0;
  const details = {
    ...unknownMembers(raw, ['overlapSeconds'], []),
    ...(!(isDuration && Number(overlapSeconds) <= overlapSecondsMax) && {
      overlapSeconds: invalidValue(`Must be an integer between 0 and ${overlapSecondsMax}.`),
    }),
  };
  if (Object.keys(details).length > 0)
    throw new AppError('bad_request', 'Failed to rotate the key.', { details });
  return Number(overlapSeconds) * 1_000;
}
