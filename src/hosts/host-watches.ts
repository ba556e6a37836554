import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { Delivering } from '../dispatch/delivering.ts';
import { DiskShares } from '../instances/disk-shares.ts';
import { LogShares } from '../instances/log-shares.ts';
import { measuringInstances } from '../instances/measure-instances.ts';
import { QuotaWatch } from '../instances/quota-watch.ts';
import type { DiskFolders, DiskPart } from '../limits/disk-space.ts';
import { UsageRecord } from '../logs/usage-record.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import type { Realtime } from '../realtime/realtime.ts';

interface WatchedHost {
  readonly config: Config;
  readonly parts: Pick<DiskFolders, 'readSpace'>;
  readonly data: DataDirectory;
  readonly logger: Logger;
}

/** Returns what records, watches and limits how much the instances use that run here; the front records their requests. */
export function watchesOf(
  { config, parts, data, logger }: WatchedHost,
  { delivering, realtime }: { readonly delivering: Delivering; readonly realtime: Realtime },
): Watches {
  const { home, directory, dueClock: clock, wakeUp, instances } = data;
  const control = home.background;
  const connections = (): ReadonlyMap<string, number> => realtime.connectionsOf();
  const usage = new UsageRecord({
    control,
    clock,
    logger,
    sources: [() => wakeUp.eventsOf, () => delivering.dispatcher.counts.deliveriesOf],
    connections,
    measure: measuringInstances(instances, logger),
  });
  const quotas = new QuotaWatch({ instances, connections, control, clock, logger });
  const folders = { ...config.disks, readSpace: parts.readSpace };
  const disk = new DiskShares({ folders, instances, directory, control, clock, logger });
  const log = new LogShares({
    bytesMax: () => sizeOf(config.webhookBytes, disk.dataDiskBytes),
    instances,
    directory,
    appended: () => wakeUp.eventsOf,
    janitor: delivering.janitor,
    control,
    clock,
    logger,
  });
  return { usage, quotas, disk, log };
}

interface Watches {
  readonly usage: UsageRecord;
  readonly quotas: QuotaWatch;
  readonly disk: DiskShares;
  readonly log: LogShares;
}

/** Returns how many bytes a part of a disk has; undefined where that is unknown, or where there is no limit. */
function sizeOf(part: DiskPart | undefined, diskBytes: number | undefined): number | undefined {
  if (part === undefined) return undefined;
  const { percent, bytesMax } = part;
  if (diskBytes !== undefined) return Math.min(bytesMax, (diskBytes * percent) / 100);
  return percent === 100 ? bytesMax : undefined;
}
