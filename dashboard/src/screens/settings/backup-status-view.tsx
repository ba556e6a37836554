import type { ReactNode } from 'react';
import type { BackupJob, BackupStatus } from '../../api/backups.ts';
import { JobFailure, runningWords } from '../../parts/backup-words.tsx';
import { byteSize } from '../../parts/byte-size.ts';
import { Facts } from '../../parts/facts.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { duration, parseTime, Time } from '../../parts/time.tsx';
import { BackupFailure } from './backup-failure.tsx';
import { Group } from '../../parts/form/group.tsx';
import type { BackupJobs, RunningJob } from './use-backup-jobs.ts';

const secondMs = 1_000;

/** The last backup, the next one, the job that runs, and why the last one failed. */
export function BackupStatusView({ jobs }: { readonly jobs: BackupJobs }) {
  const { status, readMs, running, statusError, error } = jobs;
  const failure = error === undefined && running === undefined ? (status?.failure ?? null) : null;
  return (
    <Group title="Status">
      {running !== undefined && <Progress job={running} readMs={readMs} />}
      {error !== undefined && <BackupFailure error={error} />}
      {failure !== null && <JobFailure job={failure} />}
      {status === undefined && Boolean(statusError) && <FailureNotice error={statusError} />}
      <Facts
        items={{
          'Last backup': status === undefined ? <Placeholder /> : <LastBackup job={status.lastBackup} />,
          'Next backup':
            status === undefined ? <Placeholder /> : <NextBackup status={status} readMs={readMs} />,
          'Last verification':
            status === undefined ? <Placeholder /> : <LastVerification job={status.lastVerification} />,
        }}
      />
    </Group>
  );
}

function Progress({ job, readMs }: { readonly job: RunningJob; readonly readMs: number }) {
  const { kind, backup, started } = job;
  const startedMs = parseTime(started)?.getTime();
  const seconds = startedMs === undefined ? 0 : Math.max(0, (readMs - startedMs) / secondMs);
  return (
    <Notice>
      <div role="status">
        {runningWords[kind]} {backup !== '' && <span className="mono">{backup}</span>} …
        {kind === 'restore' && ' This page reloads when the instance is back.'}
      </div>
      <progress className="backup-progress" aria-label={runningWords[kind]} />
      {seconds >= 1 && <div className="soft">{duration(seconds)} so far</div>}
    </Notice>
  );
}

function LastBackup({ job }: { readonly job: BackupJob | null }) {
  if (job === null) return 'None yet';
  return (
    <Line name={job.backup}>
      <Time value={job.ended} />
      <span>{byteSize(job.bytes)}</span>
      <span>took {tookWords(job)}</span>
      {job.byOperator && <span>by the operator</span>}
    </Line>
  );
}

function LastVerification({ job }: { readonly job: BackupJob | null }) {
  if (job === null) return 'None yet';
  return (
    <Line name={job.backup}>
      <Time value={job.ended} />
    </Line>
  );
}

function Line({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <span className="mono">{name}</span>
      <span className="soft settings-row-note">{children}</span>
    </>
  );
}

function NextBackup({ status, readMs }: { readonly status: BackupStatus; readonly readMs: number }) {
  const date = parseTime(status.next);
  if (date === undefined) return 'Not scheduled';
  const seconds = (date.getTime() - readMs) / secondMs;
  return (
    <>
      {dayWords.format(date)} UTC
      <span className="soft settings-row-note">{seconds <= 0 ? 'now' : `in ${duration(seconds)}`}</span>
    </>
  );
}

/** Schedules are in UTC. */
const dayWords = new Intl.DateTimeFormat(undefined, {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

function tookWords({ started, ended }: BackupJob): string {
  const [from, to] = [started, ended].map((text) => parseTime(text)?.getTime() ?? 0);
  const seconds = ((to ?? 0) - (from ?? 0)) / secondMs;
  return seconds < 1 ? 'less than a second' : duration(seconds);
}

function Placeholder() {
  return <span className="placeholder" style={{ inlineSize: 160 }} />;
}
