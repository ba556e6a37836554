import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { Instance } from '../instances/instance.ts';
import { type CompanionName, companionNames } from '../instances/system-collections.ts';
import { writeSecret } from '../secrets/secrets.ts';
import { newTokenKey } from '../secrets/token.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import type { RecordBody } from './decode-record.ts';
import type { WriteScope } from './record-write.ts';
import type { StoredRecord } from './record.ts';

export interface AccountChange {
  readonly body: RecordBody;
  readonly values: readonly StoredValue[];
  readonly existing?: StoredRecord;
  readonly isSuperuser: boolean;
  readonly hasNewPassword: boolean;
}

/**
 * Returns how a change of an account changes its token key. A new key ends all sessions; it is due with a new password or
 * address. A superuser may request one by naming `tokenKey`, but cannot choose it.
 */
export function tokenKeyChanges(
  instance: Instance,
  collection: Collection,
  change: AccountChange,
): readonly SecretChange[] {
  if (collection.type !== 'auth' || !isDue(collection, change)) return [];
  // A new account has no sessions to end.
  if (change.existing === undefined) return [renewTokenKey(collection)];
  const ended = endSessions(instance, collection);
  return change.hasNewPassword ? [...ended, forgetOrigins(instance, collection)] : ended;
}

function isDue(collection: Collection, change: AccountChange): boolean {
  const { body, values, existing, isSuperuser, hasNewPassword } = change;
  if (existing === undefined || hasNewPassword) return true;
  const email = collection.fields.findIndex(({ name }) => name === 'email');
  if (values[email] !== existing.values[email]) return true;
  return isSuperuser && ['tokenKey', 'tokenKey:autogenerate'].some((name) => Object.hasOwn(body, name));
}

/**
 * Returns the changes that end all sessions of an account: a new token key, and sign-ins that wait for their second factor are
 * erased, because they began with the old credentials. The caller has locked the account's row: a sign-in that runs meanwhile
 * waits for that lock, and fails if the key has changed.
 */
export function endSessions(instance: Instance, collection: Collection): readonly SecretChange[] {
  return [
    renewTokenKey(collection),
    (tx, id) => eraseAccount({ instance, tx }, { collection, id, only: ['_mfas'] }),
  ];
}

/** Returns the change that forgets from where an account has signed in: with the old password it may not have been its owner. */
export function forgetOrigins(instance: Instance, collection: Collection): SecretChange {
  return (tx, id) => eraseAccount({ instance, tx }, { collection, id, only: ['_authOrigins'] });
}

/**
 * Returns the changes with which an account becomes verified: if others could sign in to it by an external account, they no longer can. Whoever
 * registers an address that is not theirs, and links their own external account, would otherwise stay in when the owner verifies it.
 */
export function endUnprovenLogins(instance: Instance, collection: Collection): readonly SecretChange[] {
  const externalAuths = instance.collections.find('_externalAuths');
  if (externalAuths?.system !== true) return [];
  return [
    async (tx, id) => {
      const links = sql`${tx.names.collectionTable('_externalAuths')} WHERE "collectionRef" = ${collection.id} AND "recordRef" = ${id}`;
      if ((await tx.run(sql`DELETE FROM ${links}`)) === 0) return;
      for (const change of endSessions(instance, collection)) await change(tx, id);
    },
  ];
}

/** Returns the change that sets a new token key, which ends its sessions. A new account needs no more than this. */
export function renewTokenKey(collection: Collection): SecretChange {
  return (tx, record) =>
    writeSecret(tx, { collection: collection.id, record, name: 'tokenKey' }, newTokenKey());
}

export interface ErasedAccount {
  readonly collection: Collection;
  /** The account's id; left out, all accounts of the collection. */
  readonly id?: string;
  /** The companion collections to delete from; all of them when left out. */
  readonly only?: readonly CompanionName[];
}

/** Deletes an account's records in the companion collections, each with its secrets. */
export async function eraseAccount(
  { instance, tx }: Pick<WriteScope, 'instance' | 'tx'>,
  { collection, id, only = companionNames }: ErasedAccount,
): Promise<void> {
  const { names } = tx;
  for (const name of only) {
    const companion = instance.collections.find(name);
    // An instance from before accounts existed may have another collection of this name.
    if (companion?.system !== true) continue;
    const whose = id === undefined ? sql`` : sql` AND "recordRef" = ${id}`;
    const owned = sql`${names.collectionTable(name)} WHERE "collectionRef" = ${collection.id}${whose}`;
    if (name === '_otps')
      await tx.run(
        sql`DELETE FROM ${names.table('$secret')} WHERE ${names.instance.condition} AND collection = ${companion.id} AND record IN (SELECT id FROM ${owned})`,
      );
    await tx.run(sql`DELETE FROM ${owned}`);
  }
}

/** Changes one secret of the record with this id. */
export type SecretChange = (tx: Transaction, record: string) => Promise<unknown>;
