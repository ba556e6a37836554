import { JobStore, type TransferJob } from '../backups/job-store.ts';
import { findBackupAge } from '../backups/backup-age.ts';
import { ScheduleStore } from '../backups/schedule-store.ts';
import type { InstanceMetrics } from '../http/service-metrics.ts';
import { instancesMax } from '../http/service-metrics.ts';
import { type Metric, single } from '../logs/metric.ts';
import type { DataDirectory } from '../open-data-directory.ts';

interface Ages {
  /** Seconds since the last backup of each scheduled instance, or since it was made where it has none; by slug. */
  readonly bySlug: readonly (readonly [slug: string, seconds: number])[];
  /** How many of them are older than twice the interval of their schedule. */
  readonly overdue: number;
  /** How many instances have a last job that failed. */
  readonly failures: number;
}

/** The metrics of backups, of all instances that a schedule backs up, whoever made the last ones. */
export class BackupMetrics implements InstanceMetrics {
  readonly #data: Pick<DataDirectory, 'home' | 'directory' | 'dueClock'>;
  #ages: Ages = { bySlug: [], overdue: 0, failures: 0 };

  constructor(data: Pick<DataDirectory, 'home' | 'directory' | 'dueClock'>) {
    this.#data = data;
  }

  get list(): readonly Metric[] {
    return [
      single(
        {
          name: 'chancery_backup_age_seconds',
          type: 'gauge',
          help: 'Age of the last backup of the scheduled instance whose last one is oldest; 0 without a schedule.',
        },
        () => this.#ages.bySlug[0]?.[1] ?? 0,
      ),
      single(
        {
          name: 'chancery_backups_overdue',
          type: 'gauge',
          help: 'Instances whose last backup is older than twice the interval of their schedule.',
        },
        () => this.#ages.overdue,
      ),
      single(
        {
          name: 'chancery_backup_failures',
          type: 'gauge',
          help: 'Instances whose last backup, restore or verification has failed.',
        },
        () => this.#ages.failures,
      ),
      {
        name: 'chancery_instance_backup_age_seconds',
        type: 'gauge',
        help: `Age of the last backup, of the ${instancesMax} scheduled instances whose last ones are oldest.`,
        samples: () =>
          this.#ages.bySlug.slice(0, instancesMax).map(([slug, value]) => ({ labels: { slug }, value })),
      },
    ];
  }

  async refresh(): Promise<void> {
    const { home, directory, dueClock } = this.#data;
    const now = dueClock.now();
    const schedules = await new ScheduleStore(home.background).list();
    const jobs = new JobStore(home.background, dueClock);
    const backups = byInstance(await jobs.lastEnded('done'), ({ kind }) => kind === 'backup');
    const failures = [...byInstance(await jobs.lastEnded('any')).values()].filter(
      ({ state }) => state === 'failed',
    );
    const scheduled = directory
      .all()
      .filter(({ state }) => state === 'active')
      .flatMap((entry) => {
        const age = findBackupAge(entry, { schedules, now, last: backups.get(entry.shownId) });
        return age === undefined ? [] : [{ slug: entry.slug, ...age }];
      });
    this.#ages = {
      bySlug: scheduled
        .map(({ slug, seconds }) => [slug, seconds] as const)
        .toSorted(([, a], [, b]) => b - a),
      overdue: scheduled.filter(({ isOverdue }) => isOverdue).length,
      failures: failures.filter(({ instance }) => directory.findShown(instance) !== undefined).length,
    };
  }
}

/** Returns the last job of each instance. */
function byInstance(
  jobs: readonly TransferJob[],
  isMeant: (job: TransferJob) => boolean = () => true,
): ReadonlyMap<string, TransferJob> {
  // The newest comes first, and the last one that is set stays.
  return new Map(
    jobs
      .filter(isMeant)
      .toReversed()
      .map((job) => [job.instance, job]),
  );
}
