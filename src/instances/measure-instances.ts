import type { Logger } from '../base/logger.ts';
import { readRecordQuota } from '../collections/table-quotas.ts';
import { readDataBytes } from '../limits/data-room.ts';
import { sql } from '../sql/sql.ts';
import type { Instance } from './instance.ts';
import type { OpenInstances } from './open-instances.ts';

export interface InstanceSize {
  readonly records: number;
  readonly dataBytes: number;
}

/** Returns what measures the open instances but those of a set. One that cannot be measured now is left out. */
export function measuringInstances(
  instances: Pick<OpenInstances, 'openIds' | 'borrowOpen'>,
  logger: Logger,
): (except: ReadonlySet<string>) => Promise<ReadonlyMap<string, InstanceSize>> {
  return async (except) => {
    const measured = new Map<string, InstanceSize>();
    for (const id of instances.openIds()) {
      const loan = except.has(id) ? undefined : instances.borrowOpen(id);
      if (loan === undefined) continue;
      try {
        measured.set(id, await measure(loan.instance));
      } catch (error) {
        logger.debug('An instance could not be measured.', { instance: id, error });
      } finally {
        loan.release();
      }
    }
    return measured;
  };
}

async function measure(instance: Instance): Promise<InstanceSize> {
  return { records: await countRecords(instance), dataBytes: await readDataBytes(instance.database) };
}

/** Counts the records of all collections but those of the system; under a quota they are counted already. */
async function countRecords({ database, collections }: Instance): Promise<number> {
  const quota = await readRecordQuota(database);
  if (quota !== undefined) return quota.used;
  let records = 0;
  for (const { name, system } of collections.all()) {
    if (system) continue;
    const [row] = await database.search(sql`SELECT count(*) FROM ${database.names.collectionTable(name)}`);
    records += Number(row?.[0]);
  }
  return records;
}
