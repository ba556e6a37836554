import { type JobHold, keepHeld, leaseMs, isHeldAs } from '../backups/job-lease.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

/**
 * Who runs which job of an instance, in the shared data: one process at a time, and each slot of a schedule once, whichever process or
 * node comes first. The hold of a process that dies ends with its lease.
 */
export class CronRuns {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Claims a slot of the schedule (milliseconds since 1970). Returns undefined where it has been claimed before, or the job runs. */
  claimSlot(instance: string, cron: string, slot: number): Promise<JobHold | undefined> {
    return this.#claim(instance, cron, slot);
  }

  /** Claims a run beside the schedule. Returns undefined where the job runs. */
  claimNow(instance: string, cron: string): Promise<JobHold | undefined> {
    return this.#claim(instance, cron, undefined);
  }

  async #claim(instance: string, cron: string, slot: number | undefined): Promise<JobHold | undefined> {
    const id = `${instance}/${cron}`;
    const now = this.#clock.now();
    const holder = newId();
    const isNew = slot === undefined ? sql`` : sql` AND run.slot <> ${slot}`;
    const nextSlot = slot === undefined ? sql`run.slot` : sql`excluded.slot`;
    const count = await this.#database.write((tx) =>
      tx.run(sql`
        INSERT INTO ${tx.names.table('$cron_run')} AS run (id, instance, slot, holder, held_until, state)
        VALUES (${id}, ${instance}, ${slot ?? 0}, ${holder}, ${now + leaseMs}, 'running')
        ON CONFLICT (id) DO UPDATE SET slot = ${nextSlot}, holder = excluded.holder, held_until = excluded.held_until, state = 'running'
        WHERE (run.state <> 'running' OR run.held_until <= ${now})${isNew}`),
    );
    return count === 0 ? undefined : { table: '$cron_run', id, holder };
  }

  /** Renews a hold until the returned function is called. Calls `onLost` once another has claimed the job. */
  keepHeld(hold: JobHold, onLost: () => void): () => void {
    return keepHeld({ database: this.#database, clock: this.#clock }, hold, onLost);
  }

  async end(hold: JobHold): Promise<void> {
    await this.#database.write((tx) =>
      tx.run(sql`UPDATE ${tx.names.table('$cron_run')} SET state = 'ended' WHERE ${isHeldAs(hold)}`),
    );
  }
}
