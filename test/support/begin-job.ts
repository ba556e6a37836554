import { JobStore, type TransferJob } from '../../src/backups/job-store.ts';
import { runTransfer } from '../../src/jobs/run-transfer.ts';
import type { TestService } from './service.ts';
import { testConfig } from './test-config.ts';

export interface BegunJob {
  readonly job: TransferJob;
  /** Does its work in this thread. */
  readonly run: (onProgress?: () => void) => Promise<unknown>;
}

/** Begins a job of an instance, as another process does. */
export async function beginJob(
  { app: { data }, data: folder }: Pick<TestService, 'app' | 'data'>,
  slug: string,
  { kind, backup }: Pick<TransferJob, 'kind' | 'backup'>,
): Promise<BegunJob> {
  const jobs = new JobStore(data.home.background, data.dueClock);
  const instance = data.directory.findBySlug(slug)?.shownId ?? '';
  const config = await testConfig(folder);
  const job = await jobs.begin({ instance, kind, backup, place: '', isAuto: false }, 'another process');
  const { signal } = new AbortController();
  return { job, run: (onProgress) => runTransfer({ data, config, signal, onProgress }, job) };
}
