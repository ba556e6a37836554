import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Instance } from '../instances/instance.ts';
import { boundRule, valuesMeetRule } from '../records/check-rule.ts';
import { withVerified } from '../records/check-account.ts';
import { findAllowed, findRecord, findRecordToChange } from '../records/find-record.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import type { WriteScope } from '../records/record-write.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { getCompanion, isRecent, saveAccountRow, consumeAccountRow } from './account-rows.ts';
import { findTokenKey } from './tokens.ts';
import type { AuthCollection } from './auth-collection.ts';

/** A way to sign in. */
export type SignInMethod = 'password' | 'otp' | 'oauth2';

export interface FactorProof {
  readonly collection: AuthCollection;
  /** Id of the account. */
  readonly id: string;
  readonly method: SignInMethod;
  /** The account's token key, read before this factor was checked. */
  readonly tokenKey: string;
}

/** Sessions of one account that wait for a second factor; nobody needs several. */
const sessionsMax = 10;

/**
 * Returns the id of a new session that must be sent with the second factor, if one is required and this was the first; undefined
 * when nothing more is required. Throws bad_request for a session that is another account's, was used or has expired, and for the
 * same method twice.
 */
export async function requireSecondFactor(
  instance: Instance,
  input: RuleInput,
  proof: FactorProof,
): Promise<string | undefined> {
  if (!(await isNeeded(instance, input, proof))) return undefined;
  const mfaId = input.query.get('mfaId') ?? input.body['mfaId'] ?? '';
  if (mfaId === '') return beginSession(instance, proof);
  if (typeof mfaId !== 'string') throw expired();
  await endSession(instance, proof, mfaId);
  return undefined;
}

async function isNeeded(
  instance: Instance,
  input: RuleInput,
  { collection, id }: FactorProof,
): Promise<boolean> {
  const { enabled, rule: text } = collection.auth.mfa;
  if (!enabled || text === '') return enabled;
  const rule = boundRule({ instance, input }, collection, text);
  return (await findAllowed(instance.database, rule, id)) !== undefined;
}

/** True when this account needs a second factor once it is verified. For the transaction that verifies it. */
export async function isNeededOnceVerified(
  { instance, input, tx }: WriteScope,
  existing: StoredRecord,
): Promise<boolean> {
  const { collection } = existing;
  const { enabled = false, rule: text = '' } = collection.auth?.mfa ?? {};
  if (!enabled || text === '') return enabled;
  const values = withVerified(collection, existing.values, 1);
  return valuesMeetRule(tx, boundRule({ instance, input }, collection, text), values);
}

async function beginSession(
  instance: Instance,
  { collection, id, method, tokenKey }: FactorProof,
): Promise<string> {
  const mfaId = newId();
  const row = {
    companion: getCompanion(instance, '_mfas'),
    account: { collectionRef: collection.id, recordRef: id },
    body: { id: mfaId, method },
    rowsMax: sessionsMax,
    lifetimeMs: collection.auth.mfa.duration * 1_000,
  };
  await instance.database.write(async (tx) => {
    // Locks the account: a change that ends its sessions must not miss this one.
    await findRecordToChange(tx, instance.collections.get(collection.id), id);
    const use = { record: id, kind: 'authToken', reader: tx } as const;
    if ((await findTokenKey(instance, collection, use)) !== tokenKey)
      throw new AppError('bad_request', 'Failed to authenticate.');
    await saveAccountRow(tx, instance, row);
  });
  return mfaId;
}

async function endSession(
  instance: Instance,
  { collection, id, method }: FactorProof,
  mfaId: string,
): Promise<void> {
  const { database } = instance;
  const companion = getCompanion(instance, '_mfas');
  const session = await findRecord(database, companion, mfaId);
  if (session === undefined) throw expired();
  if (!isRecent(session, collection.auth.mfa.duration, instance)) throw expired();
  if (valueOf(session, 'collectionRef') !== collection.id || valueOf(session, 'recordRef') !== id)
    throw new AppError('bad_request', 'Invalid MFA session.');
  if (valueOf(session, 'method') === method)
    throw new AppError('bad_request', 'A different authentication method is required.');
  const isTaken = await database.write((tx) => consumeAccountRow(tx, companion, mfaId));
  if (!isTaken) throw expired();
}

function expired(): AppError {
  return new AppError('bad_request', 'Invalid or expired MFA session.');
}
