import { notFound } from '../base/errors.ts';
import { readRows } from '../instances/instance-rows.ts';
import type { Instance } from '../instances/instance.ts';
import { BeingReplaced } from '../instances/replacement-mark.ts';
import { sql } from '../sql/sql.ts';
import { backupName } from './backup-names.ts';
import { alreadyStarted, JobStore, type NewTransfer, type TransferJob } from './job-store.ts';
import { type Schedule, ScheduleStore } from './schedule-store.ts';
import type { Database } from '../storage/database.ts';
import type { BackupPlace } from './backup-place.ts';
import { openOwnPlace, type PlaceParts } from './open-backup-place.ts';

/** What is known of the backups of an instance. */
export interface BackupStatus {
  /** The job that waits or runs. */
  readonly open: TransferJob | undefined;
  readonly lastBackup: TransferJob | undefined;
  readonly lastVerification: TransferJob | undefined;
  /** The last job, where that failed. */
  readonly failure: TransferJob | undefined;
}

/** The backups of instances, as their superusers make and restore them. Another thread does so. */
export class InstanceBackups {
  readonly #jobs: JobStore;
  readonly #schedules: ScheduleStore;
  readonly #parts: PlaceParts;

  constructor(control: Database, parts: PlaceParts) {
    this.#jobs = new JobStore(control, parts.clock);
    this.#schedules = new ScheduleStore(control);
    this.#parts = parts;
  }

  placeOf(instance: Instance): BackupPlace {
    return openOwnPlace(instance, this.#parts);
  }

  /**
   * Has a job done, and resolves when it is over (JobStore.run). Throws bad_request, and unavailable where a backup has taken the place of
   * the instance since the caller found it. `onAdded` is called before the job is waited for.
   */
  async run(
    { id, shownId }: Pick<Instance, 'id' | 'shownId'>,
    job: Pick<NewTransfer, 'kind' | 'backup'>,
    { signal, onAdded }: { readonly signal: AbortSignal; readonly onAdded: () => void },
  ): Promise<void> {
    const added = await this.#jobs.add(
      { ...job, instance: shownId, place: '', isAuto: false },
      async (tx) => {
        const [row] = await readRows(tx, sql`id = ${id}`);
        if (row?.shownId !== shownId) throw new BeingReplaced();
      },
    );
    onAdded();
    await this.#jobs.waitFor(added, () => signal.aborted);
  }

  /** Begins a backup beside the schedule, as the schedule does. Throws bad_request while the instance has a job. */
  async begin({ shownId, slug, dueClock }: Instance): Promise<void> {
    const backup = backupName(slug, dueClock.now(), { isAuto: true });
    await this.#jobs.add({ instance: shownId, kind: 'backup', backup, place: '', isAuto: true });
  }

  /** Throws bad_request while the instance has a job. */
  async requireFree({ shownId }: Instance): Promise<void> {
    const open = await this.#jobs.findOpen(shownId);
    if (open !== undefined) throw alreadyStarted();
  }

  /** Throws not_found. */
  async requireBackup(instance: Instance, name: string): Promise<void> {
    if ((await this.placeOf(instance).find(name)) === undefined) throw notFound();
  }

  async status({ shownId }: Pick<Instance, 'shownId'>): Promise<BackupStatus> {
    const jobs = await this.#jobs.lastOfEach(shownId);
    const over = jobs.filter(({ ended }) => ended !== '');
    const lastOf = (kind: TransferJob['kind']): TransferJob | undefined =>
      over.find((job) => job.kind === kind && job.state === 'done');
    return {
      open: jobs.find(({ ended }) => ended === ''),
      lastBackup: lastOf('backup'),
      lastVerification: lastOf('verify'),
      failure: over[0]?.state === 'failed' ? over[0] : undefined,
    };
  }

  /** Returns when the next backup is made; undefined for never. */
  schedule({ shownId }: Pick<Instance, 'shownId'>): Promise<Schedule | undefined> {
    return this.#schedules.find(shownId);
  }

  /** Follows a change of the settings. */
  async reschedule({ shownId, settings, dueClock }: Instance): Promise<void> {
    await this.#schedules.set(shownId, settings.current.backups.cron, dueClock.now());
  }
}
