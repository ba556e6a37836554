import type { Clock } from '../base/clock.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import type { InternalTable } from '../storage/internal-table.ts';

/** How long a job is held without a renewal: then its holder has ended without a word. */
export const leaseMs = 30_000;

/** The hold on a job that a process runs: a row with an `id`, `holder`, `held_until` and `state`. */
export interface JobHold {
  readonly table: Extract<InternalTable, '$transfer' | '$schema_job' | '$cron_run'>;
  readonly id: string;
  readonly holder: string;
}

export interface LeaseParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Renews the hold on a job until the returned function is called. The next renewal makes up for one that fails. Calls `onLost` once
 * another has taken the job over.
 */
export function keepHeld(parts: LeaseParts, lease: JobHold, onLost: () => void): () => void {
  const renew = async (): Promise<void> => {
    if (await renewHold(parts, lease)) return;
    clearInterval(renewal);
    onLost();
  };
  const renewal = setInterval(() => void renew().catch(() => undefined), leaseMs / 5);
  return () => clearInterval(renewal);
}

/** Returns false where another has taken the job over. */
export async function renewHold({ database, clock }: LeaseParts, hold: JobHold): Promise<boolean> {
  const until = clock.now() + leaseMs;
  const count = await database.write((tx) =>
    tx.run(sql`
      UPDATE ${tx.names.table(hold.table)} SET held_until = ${until} WHERE ${isHeldAs(hold)}`),
  );
  return count > 0;
}

/** Holds for the row of a job while this holder runs it. */
export function isHeldAs({ id, holder }: Pick<JobHold, 'id' | 'holder'>): Sql {
  return sql`id = ${id} AND holder = ${holder} AND state = 'running'`;
}
