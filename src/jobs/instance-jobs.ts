import { InstanceBackups } from '../backups/instance-backups.ts';
import type { Config } from '../config/config.ts';
import { CronRuns } from '../crons/cron-runs.ts';
import { InstanceCrons, type InstanceCronsOptions } from '../crons/instance-crons.ts';
import type { DataDirectory } from '../open-data-directory.ts';

/**
 * Returns the backups and the scheduled jobs of the instances of a data directory. The jobs run by themselves once they are started.
 *
 *   backups/       a backup is an archive in a place; jobs to make and restore them, and their schedules, are rows
 *   job-runner     takes up jobs, and adds those whose time has come; runs each in the transfer-thread
 *   run-transfer   what a job does, there or in a command
 *   crons/         what else runs on a schedule, beside requests
 */
export function instanceJobsOf(
  { home, dueClock: clock, requests, instances, fileSweeper }: DataDirectory,
  { backups: places }: Config,
  parts: Pick<InstanceCronsOptions, 'janitor' | 'logger'>,
): { readonly backups: InstanceBackups; readonly crons: InstanceCrons } {
  const backups = new InstanceBackups(home.background, { places, requests, clock });
  const crons = new InstanceCrons({
    ...parts,
    runs: new CronRuns(home.background, clock),
    backups,
    fileSweeper,
    openIds: () => instances.openIds(),
    borrowOpen: (id) => instances.borrowOpen(id),
    clock,
  });
  return { backups, crons };
}
