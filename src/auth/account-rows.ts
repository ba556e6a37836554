import { fromTimestamp, toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { createInside } from '../records/create-record.ts';
import type { RecordBody } from '../records/decode-record.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import { recordShape } from '../records/record-shape.ts';
import { recordStatements } from '../records/record-statements.ts';
import type { PasswordHashes } from '../records/accounts/hash-passwords.ts';
import { factsOfCaller } from '../rules/request-facts.ts';
import { deleteSecrets } from '../secrets/secrets.ts';
import { sql, withValues, type Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';

/** A record of an auth collection, as what is kept beside it refers to it. */
export interface AccountReference {
  readonly collectionRef: string;
  readonly recordRef: string;
}

export interface AccountRow {
  /** Where it is kept. */
  readonly companion: Collection;
  readonly account: AccountReference;
  /** Beside whose it is. */
  readonly body: RecordBody;
  readonly hashes?: PasswordHashes;
}

export interface AccountRowBounds {
  /** The oldest beyond so many of one account go. */
  readonly keptMax: number;
  /** What the accounts of this collection have had for longer goes, a few of them with each that comes. */
  readonly keptMs?: number;
}

/** How many expired rows one that is kept takes away: more than it adds, and few enough not to be felt. */
const removedMax = 16;

/** Keeps something for an account, in place of what it has had for too long or too much of. */
export async function keepAccountRow(
  tx: Transaction,
  instance: Instance,
  { companion, account, body, hashes = new Map(), keptMax, keptMs }: AccountRow & AccountRowBounds,
): Promise<void> {
  const { collectionRef, recordRef } = account;
  const { table } = recordStatements(companion, tx.names);
  const rows = (where: Sql): Sql =>
    sql`SELECT id FROM ${table} WHERE "collectionRef" = ${collectionRef} AND ${where}`;
  if (keptMs !== undefined) {
    const before = toTimestamp(instance.clock.now() - keptMs);
    await removeRows(
      tx,
      companion,
      sql`${rows(sql`created <= ${before}`)} ORDER BY created LIMIT ${removedMax}`,
    );
  }
  const own = rows(sql`"recordRef" = ${recordRef}`);
  const rest = sql`LIMIT ${removedMax} OFFSET ${keptMax - 1}`;
  await removeRows(tx, companion, sql`${own} ORDER BY created DESC, "$position" DESC ${rest}`);
  const facts = factsOfCaller({ kind: 'superuser', id: '' });
  const whole = { ...body, ...account };
  const secrets = { hashes, old: undefined };
  await createInside({ instance, facts, tx }, { collection: companion.id, body: whole, secrets });
}

/**
 * Whether a row was made less than so many seconds from now. Also in the time to come: where a clock was set back by an hour what is
 * good for minutes would be good for that hour, and the clocks of nodes differ by less.
 */
export function isRecent(row: StoredRecord, seconds: number, { clock }: Pick<Instance, 'clock'>): boolean {
  const createdMs = fromTimestamp(String(valueOf(row, 'created')));
  return Math.abs(clock.now() - createdMs) < seconds * 1_000;
}

/** Takes a row away; false when it is gone already: of several who use it at once, it is for one. */
export async function takeAccountRow(tx: Transaction, companion: Collection, id: string): Promise<boolean> {
  const count = await tx.run(withValues(recordStatements(companion, tx.names).deleteById, [id]));
  if (count > 0 && recordShape(companion).hasSecrets)
    await deleteSecrets(tx, { collection: companion.id, record: id });
  return count > 0;
}

async function removeRows(tx: Transaction, companion: Collection, found: Sql): Promise<void> {
  const rows = await tx.tuples(sql`${found}${tx.names.skipLocked}`);
  for (const [id] of rows) await takeAccountRow(tx, companion, String(id));
}
