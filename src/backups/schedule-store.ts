import { nextRun } from '../base/cron.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

/** When backups are made: of one instance by its settings, or of all by the operator. */
export interface Schedule {
  /** What the instance is known by; empty for all instances. */
  readonly instance: string;
  readonly cron: string;
  /** When the next ones are due, in milliseconds since 1970. */
  readonly due: number;
}

/** The schedules of backups, in the shared data: an instance need not be open for its backup to be due. */
export class ScheduleStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Sets the schedule of an instance; removes it where `cron` is empty. Does nothing where it is the same. */
  async set(instance: string, cron: string, now: number): Promise<void> {
    const { names } = this.#database;
    const table = names.table('$backup_schedule');
    const [row] = await this.#database.tuples(sql`SELECT cron FROM ${table} WHERE instance = ${instance}`);
    if (String(row?.[0] ?? '') === cron) return;
    const due = cron === '' ? undefined : nextRun(cron, now);
    await this.#database.write((tx) =>
      tx.run(
        due === undefined
          ? sql`DELETE FROM ${table} WHERE instance = ${instance}`
          : sql`INSERT INTO ${table} (instance, cron, due) VALUES (${instance}, ${cron}, ${due})
              ON CONFLICT (instance) DO UPDATE SET cron = excluded.cron, due = excluded.due`,
      ),
    );
  }

  async find(instance: string): Promise<Schedule | undefined> {
    const table = this.#database.names.table('$backup_schedule');
    const [row] = await this.#database.tuples(
      sql`SELECT instance, cron, due FROM ${table} WHERE instance = ${instance}`,
    );
    return row && toSchedule(row);
  }

  async list(): Promise<readonly Schedule[]> {
    const table = this.#database.names.table('$backup_schedule');
    const rows = await this.#database.tuples(sql`SELECT instance, cron, due FROM ${table} ORDER BY instance`);
    return rows.map(toSchedule);
  }

  async readDue(now: number): Promise<readonly Schedule[]> {
    const table = this.#database.names.table('$backup_schedule');
    const rows = await this.#database.tuples(
      sql`SELECT instance, cron, due FROM ${table} WHERE due <= ${now} ORDER BY due`,
    );
    return rows.map(toSchedule);
  }

  /** Moves a schedule on to its next time, or removes it. Returns false where another process was faster. */
  async move(
    { instance, due }: Pick<Schedule, 'instance' | 'due'>,
    next: number | undefined,
  ): Promise<boolean> {
    const table = this.#database.names.table('$backup_schedule');
    const condition = sql`instance = ${instance} AND due = ${due}`;
    const count = await this.#database.write((tx) =>
      tx.run(
        next === undefined
          ? sql`DELETE FROM ${table} WHERE ${condition}`
          : sql`UPDATE ${table} SET due = ${next} WHERE ${condition}`,
      ),
    );
    return count > 0;
  }
}

function toSchedule([instance, cron, due]: readonly unknown[]): Schedule {
  return { instance: String(instance), cron: String(cron), due: Number(due) };
}
