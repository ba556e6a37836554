import { nextRun } from '../base/cron.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { TransferJob } from './job-store.ts';
import type { Schedule } from './schedule-store.ts';

export interface BackupAge {
  /** Seconds since the last backup, or since the instance was made where it has none. */
  readonly seconds: number;
  /** Whether it is older than twice the interval of its schedule. */
  readonly isOverdue: boolean;
}

/** Finds how old the last backup of an instance is; undefined for one without a schedule. */
export function findBackupAge(
  { shownId, created }: Pick<InstanceEntry, 'shownId' | 'created'>,
  {
    schedules,
    now,
    last,
  }: {
    readonly schedules: readonly Schedule[];
    readonly now: number;
    readonly last: TransferJob | undefined;
  },
): BackupAge | undefined {
  const own = schedules.filter(({ instance }) => instance === '' || instance === shownId);
  if (own.length === 0) return undefined;
  const intervals = own.map(({ cron, due }) => (nextRun(cron, due) ?? due) - due);
  const ageMs = Math.max(0, now - fromTimestamp(last?.ended ?? created));
  return { seconds: Math.round(ageMs / 1_000), isOverdue: ageMs > 2 * Math.min(...intervals) };
}
