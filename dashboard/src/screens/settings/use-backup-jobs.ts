import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import {
  type BackupJob,
  backupsKey,
  type BackupStatus,
  backupStatusQuery,
  type JobRequest,
  runBackupJob,
} from '../../api/backups.ts';
import { basePath } from '../../api/client.ts';
import { showToast } from '../../parts/toast.tsx';

/** The job that runs, whoever has started it. */
export interface RunningJob extends JobRequest {
  /** Empty as long as the service has not answered. */
  readonly started: string;
}

const pollMs = 1_000;

export type BackupJobs = ReturnType<typeof useBackupJobs>;

/** The jobs of the backups of an instance, of which there is one at a time. */
export function useBackupJobs() {
  const queries = useQueryClient();
  const [job, setJob] = useState<JobRequest>();
  const [error, setError] = useState<unknown>();
  const {
    data: status,
    dataUpdatedAt: readMs,
    error: statusError,
  } = useQuery({ ...backupStatusQuery, ...(job !== undefined && { refetchInterval: pollMs }) });
  const running = toRunning(job, status?.running);
  useForeignEnd(job === undefined, status);
  /** Resolves with whether it succeeded. */
  const start = async (request: JobRequest): Promise<boolean> => {
    setJob(request);
    setError(undefined);
    const failure = await failureOf(request);
    // A restore stays the job that runs until the page is loaded again.
    if (failure === undefined && request.kind === 'restore') {
      loadRestored(request.backup);
      return true;
    }
    setError(failure);
    await queries.invalidateQueries({ queryKey: backupsKey });
    setJob(undefined);
    if (failure !== undefined) return false;
    showToast(request.kind === 'verify' ? `${request.backup} is complete.` : 'The backup is stored.');
    return true;
  };
  return { status, readMs, running, statusError, error, start };
}

async function failureOf(request: JobRequest): Promise<unknown> {
  try {
    await runBackupJob(request);
    return undefined;
  } catch (error) {
    return error;
  }
}

function toRunning(
  job: JobRequest | undefined,
  running: BackupJob | null | undefined,
): RunningJob | undefined {
  if (running !== null && running !== undefined && (job === undefined || running.kind === job.kind))
    return running;
  return job && { ...job, started: '' };
}

/** Looks again when a job is over that was not started here: by the schedule, in another tab, or before a reload. */
function useForeignEnd(isForeign: boolean, status: BackupStatus | undefined): void {
  const queries = useQueryClient();
  const last = useRef<BackupJob>(undefined);
  useEffect(() => {
    if (status === undefined) return;
    const before = last.current;
    last.current = isForeign ? (status.running ?? undefined) : undefined;
    if (!isForeign || before === undefined || status.running !== null) return;
    if (before.kind === 'restore' && status.failure === null) loadRestored(before.backup);
    else void queries.invalidateQueries({ queryKey: backupsKey });
  }, [isForeign, status, queries]);
}

/** Loads the page again: nothing that it holds of the instance is true any more. */
function loadRestored(backup: string): void {
  location.assign(`${basePath}settings/backups?restored=${encodeURIComponent(backup)}`);
}
