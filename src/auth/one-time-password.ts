import { type RuleInput, shareOf } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import { idAlphabet, idLength, randomText } from '../base/ids.ts';
import type { Instance } from '../instances/instance.ts';
import { clientKey } from '../limits/rate-limiter.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import { countGuess } from '../limits/sign-in-guard.ts';
import { changeAccount } from '../records/change-account.ts';
import { findRecord, findRecordToChange } from '../records/find-record.ts';
import { refusedAs, type WriteScope } from '../records/record-write.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import type { Sealer } from '../secrets/seal.ts';
import { readSecret } from '../secrets/secrets.ts';
import { newTokenKey } from '../secrets/token.ts';
import { decodeForm, lengthProblem, refuseForm } from './account-request.ts';
import { getCompanion, isRecent, consumeAccountRow } from './account-rows.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { finishSignIn, requireMethod, type SignInProof, type SignInResult } from './finish-sign-in.ts';
import { isNeededOnceVerified } from './second-factor.ts';
import { recordSignIn } from './sign-in.ts';
import { findTokenKey } from './tokens.ts';

const idLengthMax = 255;
const codeLengthMax = 71;

export interface OneTimePasswordSignIn {
  readonly collection: string;
  /** The client's address. */
  readonly address: Uint8Array;
}

/**
 * Signs in by a mailed code, and uses the code up. An account that was not verified becomes verified, loses its sessions, and gets a
 * random password unless it needs a second factor: somebody who signed up with another's address must not stay in. Throws
 * not_found (collection), forbidden (switched off, or the collection's rule), bad_request, too_many_requests.
 */
export function signInWithOneTimePassword(
  instance: Instance,
  input: RuleInput,
  { collection: name, address }: OneTimePasswordSignIn,
): Promise<SignInResult> {
  return withAuthCollection(instance, name, async (collection) => {
    requireMethod(collection, 'otp');
    const { otpId, password } = decodeForm(input.body, ['otpId', 'password']);
    refuseForm({
      otpId: lengthProblem(otpId.length, idLengthMax),
      password: lengthProblem(password.length, codeLengthMax),
    });
    const code = await findCode(instance, collection, otpId);
    return recordSignIn(instance, { input, collection, id: code?.recordRef ?? '' }, async () => {
      const isRight = await guardOtp(instance, { collection, otpId, address }, () =>
        instance.passwords.verify(typedCode(password), code?.hash, shareOf(instance.id, input)),
      );
      if (!isRight || code === undefined) throw invalidCode();
      const used = await useCode(instance, { ...input, context: 'otp' }, { collection, code });
      return finishSignIn(instance, input, { ...used, method: 'otp' });
    });
  });
}

/** Returns a code without the blanks and dashes that a mail program or its reader has put into it. */
function typedCode(text: string): string {
  const digits = text.replaceAll(/[\s\p{Pd}]/gu, '');
  // A superuser can make a code of other characters, which stay as they are.
  return /^\d+$/.test(digits) ? digits : text;
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
  input: RuleInput,
  { collection, code }: { readonly collection: AuthCollection; readonly code: Code },
): Promise<Pick<SignInProof, 'record' | 'tokenKey'>> {
  const companion = getCompanion(instance, '_otps');
  const now = instance.collections.get(collection.id);
  const account = await findRecord(instance.database, now, code.recordRef);
  // A random password, which nobody knows.
  const passwordHash =
    account !== undefined && isProof(account, code)
      ? await instance.passwords.hash(newTokenKey(), shareOf(instance.id, input))
      : undefined;
  return instance.database.write(async (tx) => {
    const current = instance.collections.get(collection.id);
    // The account is locked first, as a delete of it locks in the same order.
    const existing = await findRecordToChange(tx, current, code.recordRef);
    const isTaken = await consumeAccountRow(tx, companion, code.id);
    const isMisdirected = code.sentTo !== '' && code.sentTo !== (existing && valueOf(existing, 'email'));
    if (existing === undefined || !isTaken || isMisdirected) throw invalidCode();
    const record = isProof(existing, code)
      ? await verifyOwner({ instance, input, tx }, existing, passwordHash)
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

/** True when the code proves something new: that the account's address, not verified so far, is the client's. */
function isProof(account: StoredRecord, { sentTo }: Code): boolean {
  return valueOf(account, 'verified') !== 1 && sentTo !== '' && sentTo === valueOf(account, 'email');
}

function invalidCode(): AppError {
  return new AppError('bad_request', 'Invalid or expired OTP.');
}

/** How many wrong codes are accepted before codes are refused; docs/accounts.md repeats these numbers. */
const otpLimits = {
  windowMs: 180_000,
  /** Wrong tries of one code while it is valid. */
  codeMax: 5,
  /** For one account from one client. */
  accountFromClientMax: 5,
  /** For one account from all clients: larger, or any stranger could lock its owner out. */
  accountMax: 25,
} as const;

const codes = new SharedCounter({ kind: 'one-time password' });
const pairs = new SharedCounter({ kind: 'one-time passwords by a client' });
const accounts = new SharedCounter({ kind: 'one-time passwords by all' });

export interface OtpTry {
  readonly collection: AuthCollection;
  readonly otpId: string;
  readonly address: Uint8Array;
}

/** Returns whether a code is right. After too many wrong ones it throws too_many_requests without looking at the code. */
function guardOtp(
  instance: Instance,
  { collection, otpId, address }: OtpTry,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  // Not by the account's id: then the sixth wrong code would reveal whether there is an account. The tag stands for the address.
  const account = `${collection.id}|${otpId.slice(0, otpTagLength)}`;
  const { windowMs: durationMs, codeMax, accountFromClientMax, accountMax } = otpLimits;
  const lifeMs = collection.auth.otp.duration * 1_000;
  const counts = [
    { counter: accounts, key: account, limit: { max: accountMax, durationMs } },
    {
      counter: pairs,
      key: `${account}|${clientKey(address)}`,
      limit: { max: accountFromClientMax, durationMs },
    },
    { counter: codes, key: `${account}|${otpId}`, limit: { max: codeMax, durationMs: lifeMs } },
  ];
  const refusal = (retryAfter: number): AppError => {
    const message = 'Too many attempts, please try again later with a new OTP.';
    return new AppError('too_many_requests', message, { retryAfter });
  };
  return countGuess(instance, { counts, verify, refusal });
}

/** How many characters of an id stand for the address that it was made for. */
const otpTagLength = 5;

/**
 * Makes the id of a one-time password, whether or not there is an account to send it to. It begins with a tag that is the same for
 * every password of one address but does not reveal the address. Wrong codes are counted by the tag, so that addresses without an
 * account are treated like all others.
 */
export function newOtpId(sealer: Sealer, address: string): string {
  const bytes = Buffer.from(sealer.fingerprint(address), 'base64url').subarray(0, otpTagLength);
  const tag = Array.from(bytes, (byte) => idAlphabet[byte % idAlphabet.length]).join('');
  return tag + randomText(idLength - otpTagLength, idAlphabet);
}
