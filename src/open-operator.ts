import { JobStore } from './backups/job-store.ts';
import { ScheduleStore } from './backups/schedule-store.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/logger.ts';
import type { Config } from './config/config.ts';
import type { InstanceHost } from './http/host/instance-host.ts';
import { callsFrom } from './http/server/host-calls.ts';
import type { HttpServer } from './http/server/server.ts';
import { JobRunner } from './jobs/job-runner.ts';
import type { DataDirectory } from './open-data-directory.ts';
import { openOperatorControl, type OperatorControl } from './operator/operator-control.ts';
import { SchemaRunner } from './operator/schema-runner.ts';

/** Returns the operator over the data. */
export function operatorOf(
  config: Config,
  data: DataDirectory,
  parts: { readonly clock: Clock; readonly logger: Logger; readonly transfers?: JobRunner },
): OperatorControl {
  const { auditDays, deletedDays, backups, policy, egress } = config;
  const { home, directory, masterKey, dueClock } = data;
  const { transfers = jobsOf({ data, config, logger: parts.logger }) } = parts;
  const places = { backupFolder: backups.folder, backupPlace: backups.schedule?.place ?? '' };
  const own = { auditDays, deletedDays, policy, egress, transfers, ...places };
  return openOperatorControl({ ...parts, ...own, home, directory, masterKey, dueClock });
}

/** Returns what takes up the schema jobs of the operator, once it is started. */
export function schemaRunnerOf(
  operator: OperatorControl,
  {
    host,
    server: { memory: ledger },
    data: { dueClock: clock },
    logger,
  }: {
    readonly host: InstanceHost;
    readonly server: HttpServer;
    readonly data: DataDirectory;
    readonly logger: Logger;
  },
): SchemaRunner {
  return new SchemaRunner({
    operator,
    callsFrom: (address) => callsFrom(address, { host, ledger }),
    clock,
    logger,
  });
}

interface JobParts {
  readonly data: DataDirectory;
  readonly config: Config;
  readonly logger: Logger;
}

/** Returns what makes and restores backups, once it is started. */
export function jobsOf({ data, config, logger }: JobParts): JobRunner {
  const { dueClock: clock } = data;
  const jobs = new JobStore(data.home.background, clock);
  return new JobRunner({ jobs, schedules: schedulesOf(data), data, config, clock, logger });
}

export function schedulesOf({ home }: DataDirectory): ScheduleStore {
  return new ScheduleStore(home.background);
}
