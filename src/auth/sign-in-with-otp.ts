import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { changeAccount } from '../records/accounts/change-account.ts';
import { findRecord, findRecordToChange } from '../records/find-record.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import type { WriteScope } from '../records/record-write.ts';
import { refusedAs } from '../records/refused-write.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { hashPassword, verifyPassword } from '../secrets/password.ts';
import { readSecret } from '../secrets/secrets.ts';
import { newTokenKey } from '../secrets/token.ts';
import { decodeForm, lengthProblem, refuseForm } from './decode-form.ts';
import { findTokenKey } from './find-token-key.ts';
import { finishSignIn, type ShownAccount } from './finish-sign-in.ts';
import { guardOtp } from './guard-otp.ts';
import { getCompanion } from './get-companion.ts';
import { isRecent, takeAccountRow } from './account-rows.ts';
import { noteSignIn } from './note-sign-in.ts';
import { requireMethod } from './require-method.ts';
import { isNeededOnceVerified } from './second-factor.ts';
import type { SignInResult } from './signed-in.ts';
import { withAuthCollection, type AuthCollection } from './with-auth-collection.ts';

const idLengthMax = 255;
const codeLengthMax = 71;

export interface OtpSignIn {
  readonly collection: string;
  /** The client's address. */
  readonly address: Uint8Array;
}

/**
 * Signs in by a mailed code, and uses the code up. An account that was not verified becomes verified, loses its sessions, and gets a
 * random password unless it will be asked for a second factor: somebody who signed up with another's address must not stay in. Throws
 * not_found (collection), forbidden (switched off, or the collection's rule), bad_request, too_many_requests.
 */
export function signInWithOtp(
  instance: Instance,
  facts: RequestFacts,
  { collection: name, address }: OtpSignIn,
): Promise<SignInResult> {
  return withAuthCollection(instance, name, async (collection) => {
    requireMethod(collection, 'otp');
    const { otpId, password } = decodeForm(facts.body, ['otpId', 'password']);
    refuseForm({
      otpId: lengthProblem(otpId.length, idLengthMax),
      password: lengthProblem(password.length, codeLengthMax),
    });
    const code = await findCode(instance, collection, otpId);
    return noteSignIn(instance, { facts, collection, id: code?.recordRef ?? '' }, async () => {
      const isRight = await guardOtp(instance, { collection, otpId, address }, () =>
        verifyPassword(password, code?.hash),
      );
      if (!isRight || code === undefined) throw invalidCode();
      const used = await useCode(instance, { ...facts, context: 'otp' }, { collection, code });
      return finishSignIn(instance, facts, { ...used, method: 'otp' });
    });
  });
}

interface Code {
  readonly id: string;
  readonly recordRef: string;
  readonly sentTo: string;
  readonly hash: string | undefined;
}

async function findCode(
  instance: Instance,
  collection: AuthCollection,
  id: string,
): Promise<Code | undefined> {
  const { database } = instance;
  const companion = getCompanion(instance, '_otps');
  const row = await findRecord(database, companion, id);
  if (row === undefined || valueOf(row, 'collectionRef') !== collection.id) return undefined;
  if (!isRecent(row, collection.auth.otp.duration, instance)) return undefined;
  const hash = await readSecret(database, { collection: companion.id, record: id, name: 'password' });
  const sentTo = String(valueOf(row, 'sentTo') ?? '');
  return { id, recordRef: String(valueOf(row, 'recordRef')), sentTo, hash };
}

/** Uses a code up; of concurrent uses one succeeds. A code sent to an address that the account no longer has is invalid. */
async function useCode(
  instance: Instance,
  facts: RequestFacts,
  { collection, code }: { readonly collection: AuthCollection; readonly code: Code },
): Promise<Pick<ShownAccount, 'record' | 'tokenKey'>> {
  const companion = getCompanion(instance, '_otps');
  const now = instance.collections.get(collection.id);
  const found = await findRecord(instance.database, now, code.recordRef);
  // A random password, which nobody knows.
  const passwordHash =
    found !== undefined && isProof(found, code) ? await hashPassword(newTokenKey()) : undefined;
  return instance.database.write(async (tx) => {
    const current = instance.collections.get(collection.id);
    // The account is locked first, as a delete of it locks in the same order.
    const existing = await findRecordToChange(tx, current, code.recordRef);
    const isTaken = await takeAccountRow(tx, companion, code.id);
    const isMisdirected = code.sentTo !== '' && code.sentTo !== (existing && valueOf(existing, 'email'));
    if (existing === undefined || !isTaken || isMisdirected) throw invalidCode();
    const record = isProof(existing, code)
      ? await verifyOwner({ instance, facts, tx }, existing, passwordHash)
      : existing;
    const use = { record: code.recordRef, kind: 'authToken', reader: tx } as const;
    const tokenKey = await findTokenKey(instance, current, use);
    if (tokenKey === undefined) throw invalidCode();
    return { record, tokenKey };
  });
}

/**
 * Verifies the account for the owner of its address. Somebody else who signed up with it is out: no session is left, and the password
 * is replaced, or not enough without a second factor.
 */
async function verifyOwner(
  scope: WriteScope,
  existing: StoredRecord,
  passwordHash: string | undefined,
): Promise<StoredRecord> {
  const isReplaced = passwordHash !== undefined && !(await isNeededOnceVerified(scope, existing));
  const proof = { verified: true, endsSessions: true, ...(isReplaced && { passwordHash }) } as const;
  return refusedAs('Failed to authenticate.', changeAccount(scope, existing, proof));
}

/** True when the code shows something new: that the account's address, not verified so far, is the client's. */
function isProof(account: StoredRecord, { sentTo }: Code): boolean {
  return valueOf(account, 'verified') !== 1 && sentTo !== '' && sentTo === valueOf(account, 'email');
}

function invalidCode(): AppError {
  return new AppError('bad_request', 'Invalid or expired OTP.');
}
