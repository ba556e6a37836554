import { toTimestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';

/** Of tallied rows, which strangers can cause: beyond it the oldest go. What superusers did is kept as long as it is to be kept. */
export const auditTalliesMax = 100_000;
/** How many rows a look takes away: more than can be made until the next one, and few enough not to be felt. */
const prunedMax = 2_000;
const dayMs = 86_400_000;

/** Takes away what is too old, and of what is tallied what is too much. `days` 0 keeps everything. */
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
