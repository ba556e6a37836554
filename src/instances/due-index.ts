import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { isAlive } from '../base/process.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Transaction, Tuple } from '../storage/database.ts';

/** When work that waits in an instance is due, in milliseconds since 1970; undefined for nothing, 0 for at once. */
export interface DueTimes {
  /** Deliveries, replays and decisions for endpoints of accounts. */
  readonly webhooks: number | undefined;
  /** Files to remove, deletes in steps, a log to trim. */
  readonly upkeep: number | undefined;
}

/** Of an instance that is open, or of which nothing is known. */
export const atOnce: DueTimes = { webhooks: 0, upkeep: 0 };

/** Upgrades that are read and marked as done together. */
const upgradesTogether = 64;

export interface DueIndexOptions {
  /** The control database of a data directory of SQLite files. */
  readonly control: Database;
  /** Whether this process is the server, of which there is one. Any other is a command, which may work beside it. */
  readonly isServer: boolean;
  readonly logger: Logger;
}

/**
 * What `control.db` knows of the work that waits in instances, so that a start opens those with work and no others (decision 34).
 *
 *   $due       a row for each instance that the server has open, due at once, or that has work due later
 *   $command   a row for each instance that a command has opened since the server took over what it did
 *   $upgrade   a row for each instance that this version has not opened yet
 *
 * A row is on disk before the first write to the instance that it is about. So nothing has to be written when work is added or settled, and
 * after a crash the instances that were open are opened again.
 */
export class DueIndex {
  readonly #options: DueIndexOptions;
  /** The name of this process as a command; a later one with the same process id has another. */
  readonly #command = `${process.pid} ${newId()}`;
  /** How often each instance was taken over from a command. */
  readonly #adoptions = new Map<string, number>();

  constructor(options: DueIndexOptions) {
    this.#options = options;
  }

  /** Resolves when it is on disk that the instance is open here. Where that fails, a round of visits finds what is due. */
  async opened(id: string): Promise<void> {
    await this.#write(id, (tx) =>
      this.#options.isServer ? setDue(tx, id, atOnce) : beginCommand(tx, id, this.#command),
    );
  }

  /** Closes an instance by `close`, which returns what is due in it then, and notes that. */
  async closed(id: string, close: () => Promise<DueTimes>): Promise<void> {
    const adoptions = this.#adoptions.get(id);
    const times = await close();
    await this.#write(id, async (tx) => {
      if (!this.#options.isServer) await endCommand(tx, id, this.#command);
      // A command has committed something after the times were read.
      else if (this.#adoptions.get(id) === adoptions) await setDue(tx, id, times);
    });
  }

  /** On a disk that is full or read-only, instances are opened and closed all the same. */
  async #write(id: string, work: (tx: Transaction) => Promise<void>): Promise<void> {
    try {
      await this.#options.control.write(work);
    } catch (error) {
      const message = 'What is due in an instance could not be noted: after a restart, it may be done late.';
      this.#options.logger.warn(message, { instance: id, error });
    }
  }

  /** Reads what is due in each instance. */
  async read(): Promise<ReadonlyMap<string, DueTimes>> {
    const { control } = this.#options;
    const rows = await control.tuples(
      sql`SELECT instance, webhooks, upkeep FROM ${control.names.table('$due')}`,
    );
    return new Map(rows.map(([id, ...times]) => [String(id), toTimes(times)]));
  }

  /** Takes over the instances of commands that have ended, or died, and returns their ids: anything may be due in them. */
  async adopt(): Promise<ReadonlySet<string>> {
    const { control } = this.#options;
    const command = control.names.table('$command');
    const rows = await control.tuples(sql`SELECT instance, command FROM ${command}`);
    const ended = rows.map((row) => row.map(String)).filter(([, name = '']) => !isRunning(name));
    const ids = new Set(ended.map(([id = '']) => id));
    if (ids.size === 0) return ids;
    for (const id of ids) this.#adoptions.set(id, (this.#adoptions.get(id) ?? 0) + 1);
    await control.write(async (tx) => {
      for (const [id = '', name = ''] of ended)
        await tx.run(sql`DELETE FROM ${command} WHERE instance = ${id} AND command = ${name}`);
      for (const id of ids) await setDue(tx, id, atOnce);
    });
    return ids;
  }

  async countUpgrades(): Promise<number> {
    const { control } = this.#options;
    const [row] = await control.tuples(sql`SELECT count(*) FROM ${control.names.table('$upgrade')}`);
    return Number(row?.[0]);
  }

  /** Returns some instances that this version has not opened yet, those behind `after`. */
  async nextUpgrades(after: string): Promise<readonly string[]> {
    const { control } = this.#options;
    const rows = await control.tuples(sql`
      SELECT instance FROM ${control.names.table('$upgrade')} WHERE instance > ${after} ORDER BY instance LIMIT ${upgradesTogether}`);
    return rows.map(([id]) => String(id));
  }

  async noteUpgraded(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#options.control.write((tx) =>
      tx.run(sql`DELETE FROM ${tx.names.table('$upgrade')} WHERE instance${tx.names.anyOf(ids)}`),
    );
  }
}

/** Removes what is noted of an instance that is gone. Where instances share tables, nothing is. */
export async function forgetDue(control: Database, id: string): Promise<void> {
  if (control.names.isConcurrent) return;
  const tables = (['$due', '$command', '$upgrade'] as const).map((name) => control.names.table(name));
  await control.write(async (tx) => {
    for (const table of tables) await tx.run(sql`DELETE FROM ${table} WHERE instance = ${id}`);
  });
}

async function setDue(tx: Transaction, id: string, { webhooks, upkeep }: DueTimes): Promise<void> {
  const due = tx.names.table('$due');
  if (webhooks === undefined && upkeep === undefined)
    await tx.run(sql`DELETE FROM ${due} WHERE instance = ${id}`);
  else
    await tx.run(sql`
      INSERT INTO ${due} (instance, webhooks, upkeep) VALUES (${id}, ${webhooks ?? null}, ${upkeep ?? null})
      ON CONFLICT (instance) DO UPDATE SET webhooks = excluded.webhooks, upkeep = excluded.upkeep`);
}

async function beginCommand(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$command')} (instance, command) VALUES (${id}, ${name}) ON CONFLICT DO NOTHING`);
}

/** One row is left for all commands that have had the instance open. */
async function endCommand(tx: Transaction, id: string, name: string): Promise<void> {
  const command = tx.names.table('$command');
  await tx.run(sql`DELETE FROM ${command} WHERE instance = ${id} AND command = ${name}`);
  await tx.run(sql`INSERT INTO ${command} (instance, command) VALUES (${id}, '') ON CONFLICT DO NOTHING`);
}

/** Whether a command may still have its instance open. */
function isRunning(name: string): boolean {
  return name !== '' && isAlive(Number(name.split(' ', 1)[0]));
}

function toTimes([webhooks, upkeep]: Tuple): DueTimes {
  const timeOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return { webhooks: timeOf(webhooks), upkeep: timeOf(upkeep) };
}
