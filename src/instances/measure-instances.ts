import type { Logger } from '../base/logger.ts';
import { readRecordQuota } from '../collections/table-quotas.ts';
import { measureLog } from '../events/measure-log.ts';
import { measureFiles, readFileBytes } from '../files/file-quota.ts';
import { readDataBytes } from '../limits/data-room.ts';
import type { DiskUse } from '../logs/read-usage.ts';
import { sql } from '../sql/sql.ts';
import type { Instance } from './instance.ts';
import type { OpenInstances } from './open-instances.ts';

export interface InstanceSize {
  readonly records: number;
  readonly dataBytes: number;
  /** Of its files, wherever they are; undefined where they cannot be listed now. */
  readonly fileBytes?: number;
  /** Of its events; undefined where there are too many that were never counted. */
  readonly logBytes?: number;
  /** Of its data and files, as far as they are on a disk of the service; undefined as for files. */
  readonly diskBytes?: number;
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
  const { database, dueClock } = instance;
  const logBytes = await measureLog(database, dueClock.now());
  const records = await countRecords(instance);
  const { dataBytes, fileBytes, onDisk } = await measureDisk(instance);
  return {
    records,
    dataBytes,
    ...(logBytes !== undefined && { logBytes }),
    ...(fileBytes !== undefined && { fileBytes }),
    ...(onDisk !== undefined && { diskBytes: onDisk.data + onDisk.files }),
  };
}

interface MeasuredDisk {
  readonly dataBytes: number;
  /** Undefined where files cannot be listed now. */
  readonly fileBytes?: number;
  readonly onDisk?: DiskUse;
}

/** Measures the data and the files of an instance, and what of them is on disks of the service. */
export async function measureDisk(instance: Instance): Promise<MeasuredDisk> {
  const { id, database, files, logger } = instance;
  const dataBytes = await readDataBytes(database);
  try {
    await measureFiles(instance);
  } catch (error) {
    logger.debug('The files of an instance could not be listed.', { instance: id, error });
    return { dataBytes };
  }
  const fileBytes = await readFileBytes(database);
  // Where instances share a database, its disk is not the service's.
  const data = database.names.isConcurrent ? 0 : dataBytes;
  return { dataBytes, fileBytes, onDisk: { data, files: files.store === files.disk ? fileBytes : 0 } };
}

/** Counts the records of all collections but those of the system; under a quota they are counted already. */
async function countRecords({ database, collections }: Instance): Promise<number> {
  const quota = await readRecordQuota(database);
  if (quota !== undefined) return quota.used;
  let records = 0;
  for (const { name, system, type } of collections.all()) {
    if (system || type === 'view') continue;
    const [row] = await database.search(sql`SELECT count(*) FROM ${database.names.collectionTable(name)}`);
    records += Number(row?.[0]);
  }
  return records;
}
