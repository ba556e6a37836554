import { InstanceBackups } from '../backups/instance-backups.ts';
import type { Config } from '../config/config.ts';
import type { DataDirectory } from '../open-data-directory.ts';

/**
 * Returns the backups of the instances of a data directory.
 *
 *   backups/       a backup is an archive in a place; jobs to make and restore them, and their schedules, are rows
 *   job-runner     takes up jobs, and adds those whose time has come; runs each in the transfer-thread
 *   run-transfer   what a job does, there or in a command
 */
export function backupsOf(
  { home, dueClock: clock, requests }: DataDirectory,
  { backups: places }: Config,
): InstanceBackups {
  return new InstanceBackups(home.background, { places, requests, clock });
}
