import { toTimestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';

/** Limit for tallied rows, which strangers can cause; the oldest beyond it are deleted. Other entries are deleted by age alone. */
export const auditTalliesMax = 100_000;
/** Rows deleted at a time: more than can be added until the next time, and few enough not to delay other work. */
const prunedMax = 2_000;
const dayMs = 86_400_000;

/** Deletes entries older than `days`, and tallied rows beyond their limit. With `days` 0 no entry is too old. */
export async function pruneAudit(
  tx: Transaction,
  { nowMs, days }: { readonly nowMs: number; readonly days: number },
): Promise<void> {
  const { names } = tx;
  const table = names.table('$audit');
  if (days > 0)
    await tx.run(sql`
      DELETE FROM ${table} WHERE ${names.scope} AND id IN (
        SELECT id FROM ${table} WHERE ${names.scope} AND created < ${toTimestamp(nowMs - days * dayMs)}
        ORDER BY created LIMIT ${prunedMax}${names.skipLocked})`);
  await tx.run(sql`
    DELETE FROM ${table} WHERE ${names.scope} AND id IN (
      SELECT id FROM ${table} WHERE ${names.scope} AND tallied = 1
      ORDER BY position DESC LIMIT ${prunedMax} OFFSET ${auditTalliesMax}${names.skipLocked})`);
}
