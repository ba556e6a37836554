import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Database } from '../storage/database.ts';
import { appendOperatorEvent } from './operator-events.ts';
import { sql } from '../sql/sql.ts';
import type { Instance } from './instance.ts';
import type { OpenInstances } from './open-instances.ts';
import { type QuotaUse, readQuotaUse } from './quota-use.ts';

const lookMs = 60_000;
/** The shares of a quota of which the operator is told, in percent. */
const levels = [100, 80] as const;

export interface QuotaWatchOptions {
  readonly instances: Pick<OpenInstances, 'openIds' | 'borrowOpen'>;
  /** How many realtime connections each instance has here. */
  readonly connections: () => ReadonlyMap<string, number>;
  /** The shared data, in which the operator's programs read of quotas. */
  readonly control: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Looks once a minute how much of their quotas the open instances use. */
export class QuotaWatch {
  readonly #options: QuotaWatchOptions;
  /** The largest share that each instance uses of a quota, by its slug. */
  #ratios: ReadonlyMap<string, number> = new Map();
  #poller: Poller | undefined;

  constructor(options: QuotaWatchOptions) {
    this.#options = options;
  }

  /** By the slug of the instance, as of the last look. */
  get ratios(): ReadonlyMap<string, number> {
    return this.#ratios;
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void => logger.warn('Quota usage could not be read.', { error });
    this.#poller = new Poller({ intervalMs: lookMs, poll: () => this.look(), onError });
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  async look(): Promise<void> {
    const { instances, connections, logger } = this.#options;
    const ratios = new Map<string, number>();
    for (const id of instances.openIds()) {
      const loan = instances.borrowOpen(id);
      if (loan === undefined) continue;
      try {
        const { instance } = loan;
        for (const use of await readQuotaUse(instance, connections().get(id))) {
          const ratio = ratioOf(use);
          ratios.set(instance.slug, Math.max(ratios.get(instance.slug) ?? 0, ratio));
          if (await noteQuota(instance, use)) await this.#tell(instance, use);
        }
      } catch (error) {
        logger.warn('Quota usage could not be read.', { instance: id, error });
      } finally {
        loan.release();
      }
    }
    this.#ratios = ratios;
  }

  /** Tells the operator, by an event for programs and a line of the log. */
  async #tell({ id, shownId, logger }: Instance, use: QuotaUse): Promise<void> {
    const { control, clock } = this.#options;
    const { name: quota, used, max } = use;
    const percent = percentOf(use);
    const kind = percent === 100 ? 'quota.reached' : 'quota.warning';
    const event = { kind, instance: shownId, data: { quota, percent, used, max } } as const;
    await control.write((tx) => appendOperatorEvent(tx, event, toTimestamp(clock.now())));
    logger.warn('An instance has nearly used up a quota, or all of it.', { instance: id, quota, percent });
  }
}

/** The level that a use has reached, in percent; 0 below all of them. */
function percentOf(use: QuotaUse): number {
  return levels.find((level) => ratioOf(use) * 100 >= level) ?? 0;
}

function ratioOf({ used, max }: QuotaUse): number {
  return max === 0 ? Number(used > 0) : used / max;
}

/**
 * Notes in the audit log when an instance has reached 80 or 100 % of a quota, once for each time that it comes there, whichever node notices it
 * first. Returns whether it has.
 */
async function noteQuota(instance: Pick<Instance, 'database' | 'audit'>, use: QuotaUse): Promise<boolean> {
  const { database } = instance;
  const percent = percentOf(use);
  const table = database.names.table('$quota');
  const name = `noted ${use.name}`;
  const stored = sql`SELECT max FROM ${table} WHERE ${database.names.instance.condition} AND name = ${name} AND shard = 0`;
  const [before] = await database.tuples(stored);
  if (Number(before?.[0] ?? 0) === percent) return false;
  return database.write(async (tx) => {
    const { names } = tx;
    const changed = await tx.run(sql`
      INSERT INTO ${table} AS noted (${names.instance.column}name, shard, room, max)
      VALUES (${names.instance.value}${name}, 0, 0, ${percent})
      ON CONFLICT (${names.instance.column}name, shard) DO UPDATE SET max = excluded.max WHERE noted.max <> excluded.max`);
    const hasGrown = changed > 0 && percent > Number(before?.[0] ?? 0);
    const details = { quota: use.name, percent, used: use.used, max: use.max };
    if (hasGrown) await instance.audit.append(tx, 'operator', { action: 'quota.reached', details });
    return hasGrown;
  });
}
