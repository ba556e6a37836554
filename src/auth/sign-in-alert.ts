import { ipAddressText } from '../base/ip-address.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Instance } from '../instances/instance.ts';
import { findRecordToChange } from '../records/find-record.ts';
import { recordTable } from '../records/record-table.ts';
import { valueOf } from '../records/record.ts';
import { md5 } from '../secrets/digest.ts';
import { sql } from '../sql/sql.ts';
import type { WorkAfterAnswer } from './account-request.ts';
import { getCompanion, saveAccountRow } from './account-rows.ts';
import { mailAccount } from './account-mail.ts';
import type { SignedIn } from './finish-sign-in.ts';
import { withAuthCollection } from './auth-collection.ts';

/** Origins recorded for one account. */
const originsMax = 5;
const userAgentLengthMax = 200;

/** Where a client is, and what it calls itself. */
export interface Origin {
  readonly address: Uint8Array;
  readonly userAgent: string;
}

/**
 * Records where an account has signed in from, and mails it about each new origin but the first. Undefined when the
 * collection has such alerts switched off.
 */
export function recordSignInOrigin(
  { collection, record }: SignedIn,
  origin: Origin,
): WorkAfterAnswer | undefined {
  if (!collection.auth.authAlert.enabled) return undefined;
  const id = String(valueOf(record, 'id'));
  const ip = ipAddressText(origin.address);
  const userAgent = origin.userAgent.slice(0, userAgentLengthMax).toWellFormed();
  const fingerprint = md5(ip + userAgent);
  return (instance, mailer) =>
    withAuthCollection(instance, collection.id, async (collection) => {
      const account = { collectionRef: collection.id, recordRef: id };
      const before = await rememberOrigin(instance, account, fingerprint);
      const to = String(valueOf(record, 'email') ?? '');
      if (before !== 'others' || to === '') return;
      const time = `${toTimestamp(instance.clock.now()).slice(0, 19)} UTC`;
      await mailAccount(instance, mailer, {
        record,
        to,
        purpose: 'login-alert',
        template: collection.auth.authAlert.emailTemplate,
        values: async () => ({ alertInfo: [time, ip, userAgent].filter((part) => part !== '').join(' - ') }),
        // Nobody can cause these mails without signing in first.
        pauseMs: 0,
      });
    });
}

/** Returns which origins were recorded before: this one, only others, or none. Locks the account, as several sign-ins may run at once. */
async function rememberOrigin(
  instance: Instance,
  account: { readonly collectionRef: string; readonly recordRef: string },
  fingerprint: string,
): Promise<'this' | 'others' | 'none'> {
  const { database, collections } = instance;
  const companion = getCompanion(instance, '_authOrigins');
  const origins = sql`
    SELECT fingerprint FROM ${recordTable(companion).statements(database.names).table}
    WHERE "collectionRef" = ${account.collectionRef} AND "recordRef" = ${account.recordRef}`;
  const rows = await database.tuples(origins);
  if (rows.flat().includes(fingerprint)) return 'this';
  return database.write(async (tx) => {
    const collection = collections.get(account.collectionRef);
    const existing = await findRecordToChange(tx, collection, account.recordRef);
    const fingerprints = (await tx.tuples(origins)).flat();
    if (existing === undefined || fingerprints.includes(fingerprint)) return 'this';
    const body = { fingerprint };
    await saveAccountRow(tx, instance, { companion, account, body, rowsMax: originsMax });
    return fingerprints.length === 0 ? 'none' : 'others';
  });
}
