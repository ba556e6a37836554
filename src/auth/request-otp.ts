import { shareOf } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { randomText } from '../base/ids.ts';
import type { Instance } from '../instances/instance.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import type { Mailer } from '../mail/mailer.ts';
import { valueOf } from '../records/record.ts';
import { type AccountRequest, decodeAddress, type WorkAfterAnswer } from './account-request.ts';
import { findByIdentity } from './sign-in.ts';
import { getCompanion, saveAccountRow } from './account-rows.ts';
import { mailAccount } from './account-mail.ts';
import { newOtpId } from './one-time-password.ts';
import { withAuthCollection } from './auth-collection.ts';

/** Codes of an account that are valid at once; a request for one more gets the last id again. */
const codesMax = 10;

/** Addresses in memory, about 200 bytes each. */
const keysMax = 50_000;

const requests = new SharedCounter({ kind: 'one-time passwords asked for' });
/** The last id issued for each address, in the order of issue. */
const lastIds = new Map<string, string>();

export interface OtpAnswer {
  /** The id that the client sends back together with the code. */
  readonly otpId: string;
  /** Undefined when there is nothing to send. */
  readonly work: WorkAfterAnswer | undefined;
}

/**
 * Mails a one-time password to the account with this address. The id is returned at once, even without such an account; requests
 * are counted by address in either case, so that the answers are alike. Throws not_found (collection), forbidden (switched off),
 * bad_request.
 */
export function requestOtp(
  instance: Instance,
  { collection: name, input, body }: AccountRequest,
): Promise<OtpAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    const { otp } = collection.auth;
    if (!otp.enabled)
      throw new AppError('forbidden', 'The collection is not configured to allow OTP authentication.');
    const email = decodeAddress(body);
    const address = `otp|${collection.id}|${email.toLowerCase()}`;
    const { otpId, isNew } = await chooseId(instance, address, otp.duration);
    if (!isNew) return { otpId, work: undefined };
    // Without its signal: the mail is sent whether or not the client waits for the answer.
    const { address: client } = shareOf(instance.id, input);
    const share = { instance: instance.id, address: client };
    const code = { collection: collection.id, email, otpId, share };
    return { otpId, work: (later, mailer) => sendCode(later, mailer, code) };
  });
}

async function chooseId(
  instance: Instance,
  address: string,
  seconds: number,
): Promise<{ readonly otpId: string; readonly isNew: boolean }> {
  const { id: instanceId, sealer } = instance;
  const key = `${instanceId}|${sealer.fingerprint(address)}`;
  const { isAllowed } = await requests.take(instance, key, { max: codesMax, durationMs: seconds * 1_000 });
  const last = lastIds.get(key);
  if (!isAllowed && last !== undefined) return { otpId: last, isNew: false };
  const otpId = newOtpId(sealer, address);
  lastIds.delete(key);
  const [first] = lastIds.keys();
  if (first !== undefined && lastIds.size >= keysMax) lastIds.delete(first);
  lastIds.set(key, otpId);
  return { otpId, isNew: true };
}

interface Code {
  /** Id of the collection. */
  readonly collection: string;
  readonly email: string;
  readonly otpId: string;
  readonly share: Share;
}

function sendCode(
  instance: Instance,
  mailer: Mailer,
  { collection: name, email, otpId, share }: Code,
): Promise<void> {
  return withAuthCollection(instance, name, async (collection) => {
    const record = await findByIdentity(instance, collection, { identity: email, fields: ['email'] });
    if (record === undefined) return;
    const { otp } = collection.auth;
    const code = randomText(otp.length, '0123456789');
    const hashes = new Map([['password', await instance.passwords.hash(code, share)]]);
    const to = String(valueOf(record, 'email'));
    const row = {
      companion: getCompanion(instance, '_otps'),
      account: { collectionRef: collection.id, recordRef: String(valueOf(record, 'id')) },
      body: { id: otpId, password: code, sentTo: to },
      hashes,
      rowsMax: codesMax,
      lifetimeMs: otp.duration * 1_000,
    };
    await instance.database.write((tx) => saveAccountRow(tx, instance, row));
    await mailAccount(instance, mailer, {
      record,
      to,
      purpose: 'otp',
      template: otp.emailTemplate,
      values: async () => ({ otp: code, otpId }),
      // The number of codes is bounded already.
      pauseMs: 0,
    });
  });
}
