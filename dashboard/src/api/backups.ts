import { queryOptions } from '@tanstack/react-query';
import { call, client, Failure, orFailure } from './client.ts';
import type { Schemas } from './schema.ts';

export type Backup = Schemas['Backup'];
export type BackupJob = Schemas['BackupJob'];
export type BackupStatus = Schemas['BackupStatus'];

const runningMs = 1_000;
const idleMs = 30_000;

/** What the keys of all queries of backups begin with. */
export const backupsKey = ['backups'];

/** The backups, the newest first. */
export const backupsQuery = queryOptions({
  queryKey: [...backupsKey, 'list'],
  queryFn: async ({ signal }) => call('GET /api/backups', { signal }),
});

/** The last backup, the job that runs and the next backup. */
export const backupStatusQuery = queryOptions({
  queryKey: [...backupsKey, 'status'],
  queryFn: async ({ signal }) => call('GET /api/backups/status', { signal }),
  refetchInterval: ({ state: { data } }) => ((data?.running ?? null) === null ? idleMs : runningMs),
});

/** What one may have done with backups; one at a time. */
export interface JobRequest {
  readonly kind: BackupJob['kind'];
  /** The name of the backup; empty for a name that the service makes. */
  readonly backup: string;
}

/**
 * Runs a job, and resolves when it is over and the service answers again. Throws for what it fails for. A proxy may close a request that
 * takes minutes, which does not end its job: that is followed by the status then.
 */
export async function runBackupJob(job: JobRequest): Promise<void> {
  try {
    await startJob(job);
  } catch (error) {
    if (!isInterruption(error)) throw error;
    await followJob(job, error);
  }
  if (job.kind === 'restore') await untilAnswered(async () => call('GET /api/health'));
}

async function startJob({ kind, backup }: JobRequest): Promise<void> {
  const path = { key: backup };
  if (kind === 'backup') await call('POST /api/backups', { body: { name: backup } });
  else if (kind === 'verify') await call('POST /api/backups/{key}/verify', { path });
  else await call('POST /api/backups/{key}/restore', { path });
}

/** Resolves when the job is over. Throws why it failed, or `error` where it has not begun. */
async function followJob({ kind }: JobRequest, error: unknown): Promise<void> {
  let hasBegun = false;
  for (;;) {
    // While a restored instance takes its place, the service answers with 503.
    const onInterruption = (failure: Failure): void => {
      if (kind === 'restore' && failure.status === 503) hasBegun = true;
    };
    const { running, failure } = await untilAnswered(
      async () => call('GET /api/backups/status'),
      onInterruption,
    );
    if (running?.kind === kind) {
      hasBegun = true;
      await pause();
    } else if (!hasBegun) throw error;
    else if (failure !== null) throw new Error(failure.message);
    else return;
  }
}

async function untilAnswered<Answer>(
  request: () => Promise<Answer>,
  onInterruption?: (failure: Failure) => void,
): Promise<Answer> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!isInterruption(error)) throw error;
      onInterruption?.(error);
      await pause();
    }
  }
}

const interruptions = [0, 502, 503, 504];

function isInterruption(error: unknown): error is Failure {
  return error instanceof Failure && interruptions.includes(error.status);
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, runningMs));
}

/** Stores a backup that was downloaded before. Returns its name, which is that of the file as far as a backup may have it. */
export async function uploadBackup(file: File): Promise<string> {
  const name = storedName(file.name);
  const renamed = new File([file], name, { type: 'application/zip' });
  await orFailure(client.backups.upload({ file: renamed }));
  return name;
}

/** `backup_1.zip` for `Backup (1).zip`, as browsers name what is downloaded twice. */
function storedName(fileName: string): string {
  const stem = fileName.toLowerCase().replace(/(?:\.(?:zip|chancery))+$/, '');
  const plain = stem.replaceAll(/[^a-z0-9_-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return `${plain || 'backup'}.zip`;
}

/** A link to a backup, which is good for three minutes. */
export async function downloadUrl(name: string): Promise<string> {
  return client.backups.getDownloadURL(await orFailure(client.files.getToken()), name);
}
