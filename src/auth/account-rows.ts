import { ruleInputOfCaller } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import { fromTimestamp, toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import type { CompanionName } from '../instances/system-collections.ts';
import type { PasswordHashes } from '../records/passwords.ts';
import { createRecord } from '../records/create-record.ts';
import type { RecordBody } from '../records/decode-record.ts';
import { recordTable } from '../records/record-table.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import { deleteSecrets } from '../secrets/secrets.ts';
import { sql, type Sql, withValues } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';

/** A reference to an account, as the rows beside it hold it. */
export interface AccountReference {
  readonly collectionRef: string;
  readonly recordRef: string;
}

export interface AccountRow {
  /** The companion collection of the row. */
  readonly companion: Collection;
  readonly account: AccountReference;
  /** The row's values, without the reference to the account. */
  readonly body: RecordBody;
  readonly hashes?: PasswordHashes;
}

export interface AccountRowBounds {
  /** How many rows one account may have; its oldest ones beyond that are deleted. */
  readonly rowsMax: number;
  /** How long a row of this collection's accounts is good. Each new row deletes a few that are older. */
  readonly lifetimeMs?: number;
}

/** How many expired rows a new one deletes: more than it adds, so that they run out, and few enough not to slow it down. */
const removedMax = 16;

/** Adds a row to those of an account, and deletes rows that are too old or too many. */
export async function saveAccountRow(
  tx: Transaction,
  instance: Instance,
  { companion, account, body, hashes = new Map(), rowsMax, lifetimeMs }: AccountRow & AccountRowBounds,
): Promise<void> {
  const { collectionRef, recordRef } = account;
  const { table } = recordTable(companion).statements(tx.names);
  const rows = (where: Sql): Sql =>
    sql`SELECT id FROM ${table} WHERE "collectionRef" = ${collectionRef} AND ${where}`;
  if (lifetimeMs !== undefined) {
    const before = toTimestamp(instance.clock.now() - lifetimeMs);
    await removeRows(
      tx,
      companion,
      sql`${rows(sql`created <= ${before}`)} ORDER BY created LIMIT ${removedMax}`,
    );
  }
  const own = rows(sql`"recordRef" = ${recordRef}`);
  const rest = sql`LIMIT ${removedMax} OFFSET ${rowsMax - 1}`;
  await removeRows(tx, companion, sql`${own} ORDER BY created DESC, "$position" DESC ${rest}`);
  const input = ruleInputOfCaller({ kind: 'superuser', id: '' });
  const whole = { ...body, ...account };
  const secrets = { hashes, old: undefined };
  await createRecord({ instance, input, tx }, { collection: companion.id, body: whole, secrets });
}

/**
 * True when a row was made less than `seconds` from now, in the past or in the future. A row from the future means that the clock was
 * set back; without a bound in that direction a code of three minutes would be good for an hour more. Clocks of nodes differ by less.
 */
export function isRecent(row: StoredRecord, seconds: number, { clock }: Pick<Instance, 'clock'>): boolean {
  const createdMs = fromTimestamp(String(valueOf(row, 'created')));
  return Math.abs(clock.now() - createdMs) < seconds * 1_000;
}

/** Deletes a row; false when it was deleted before. Of several concurrent uses of a row only one gets true. */
export async function consumeAccountRow(
  tx: Transaction,
  companion: Collection,
  id: string,
): Promise<boolean> {
  const count = await tx.run(withValues(recordTable(companion).statements(tx.names).deleteById, [id]));
  if (count > 0 && recordTable(companion).hasSecrets)
    await deleteSecrets(tx, { collection: companion.id, record: id });
  return count > 0;
}

/** Returns how many rows were found. */
async function removeRows(tx: Transaction, companion: Collection, select: Sql): Promise<number> {
  const rows = await tx.tuples(sql`${select}${tx.names.locks.skipLocked}`);
  for (const [id] of rows) await consumeAccountRow(tx, companion, String(id));
  return rows.length;
}

/** The companion collections whose rows expire. */
export type AccountRowName = Extract<CompanionName, '_mfas' | '_otps'>;

/** Expired rows that one transaction deletes: sign-ins wait for it. */
const removedTogetherMax = 100;

/** Deletes all rows that are older than what the options of their auth collection allow. */
export async function removeExpiredRows(
  instance: Instance,
  name: AccountRowName,
  signal: AbortSignal,
): Promise<void> {
  const { database, collections, clock } = instance;
  const companion = getCompanion(instance, name);
  for (const { id, auth } of collections.all()) {
    if (auth === undefined) continue;
    const { duration } = name === '_otps' ? auth.otp : auth.mfa;
    const before = toTimestamp(clock.now() - duration * 1_000);
    let removed = removedTogetherMax;
    while (removed === removedTogetherMax && !signal.aborted)
      removed = await database.write((tx) =>
        removeRows(
          tx,
          companion,
          sql`SELECT id FROM ${recordTable(companion).statements(tx.names).table}
            WHERE "collectionRef" = ${id} AND created <= ${before} ORDER BY created LIMIT ${removedTogetherMax}`,
        ),
      );
  }
}

/**
 * Returns one of the companion collections of accounts. Throws bad_request when an instance that is older than accounts has a
 * collection of its own by that name.
 */
export function getCompanion({ collections }: Instance, name: CompanionName): Collection {
  const companion = collections.find(name);
  if (companion?.system === true) return companion;
  throw new AppError('bad_request', `The collection ${name} of this instance is not the service's own.`);
}
