import { assert } from '../base/assert.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';

/**
 * Names one of the password hashes, token keys and token secrets in the instance's table `$secret`. As these are not columns of a
 * collection's table, no filter, sort, rule, view or field list can reach them (http-api A13).
 */
export interface SecretKey {
  /** The collection's id, as its name may change. */
  readonly collection: string;
  /** The record's id, or '' for a secret of the collection itself. */
  readonly record: string;
  readonly name: string;
}

export interface SecretOwner {
  readonly collection: string;
  /** Absent for the collection with all its records. */
  readonly record?: string;
}

export async function readSecret(reader: Reader, key: SecretKey): Promise<string | undefined> {
  const row = await reader.get(
    sql`SELECT value FROM ${reader.names.table('$secret')} WHERE ${reader.names.instance.condition} AND collection = ${key.collection} AND record = ${key.record} AND name = ${key.name}`,
  );
  if (row === undefined) return undefined;
  const { value } = row;
  assert(typeof value === 'string', 'the column value of $secret is text');
  return value;
}

/** Sets a secret, whether or not there was one. */
export async function writeSecret(tx: Transaction, key: SecretKey, value: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO ${tx.names.table('$secret')} (${tx.names.instance.column}collection, record, name, value)
      VALUES (${tx.names.instance.value}${key.collection}, ${key.record}, ${key.name}, ${value})
      ON CONFLICT (${tx.names.instance.column}collection, record, name) DO UPDATE SET value = excluded.value`,
  );
}

export async function deleteSecret(tx: Transaction, key: SecretKey): Promise<void> {
  await tx.run(
    sql`DELETE FROM ${tx.names.table('$secret')} WHERE ${tx.names.instance.condition} AND collection = ${key.collection} AND record = ${key.record} AND name = ${key.name}`,
  );
}

/** Deletes all secrets of an owner and returns how many there were. */
export function deleteSecrets(tx: Transaction, { collection, record }: SecretOwner): Promise<number> {
  const owned = sql`${tx.names.table('$secret')} WHERE ${tx.names.instance.condition} AND collection = ${collection}`;
  if (record === undefined) return tx.run(sql`DELETE FROM ${owned}`);
  return tx.run(sql`DELETE FROM ${owned} AND record = ${record}`);
}
