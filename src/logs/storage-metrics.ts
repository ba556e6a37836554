import type { StorageCounts } from '../storage/storage-counts.ts';
import { storageFaults, type StorageHealth } from '../storage/storage-health.ts';
import { type Metric, samplesOf, single } from './metric.ts';

/** What is counted of databases. */
export function storageMetrics(counts: StorageCounts, health: StorageHealth): readonly Metric[] {
  const { commitWrites, commitSeconds, sqlSeconds, pools } = counts;
  const byPool = (read: (pool: (typeof pools)[number]) => ReturnType<Metric['samples']>[number]['value']) =>
    samplesOf('pool', Object.fromEntries(pools.map((pool) => [pool.name, read(pool)])));
  return [
    single(
      {
        name: 'chancery_commit_writes',
        type: 'histogram',
        help: 'Writes that shared each commit; their count is that of commits.',
      },
      () => commitWrites,
    ),
    single(
      {
        name: 'chancery_commit_duration_seconds',
        type: 'histogram',
        help: 'Time of each commit until it was on the disk.',
      },
      () => commitSeconds,
    ),
    {
      name: 'chancery_sql_duration_seconds',
      type: 'histogram',
      help: 'Time of statements by kind: read, search, or all that the writes of a commit did before it.',
      samples: () => samplesOf('kind', sqlSeconds),
    },
    {
      name: 'chancery_pool_wait_seconds',
      type: 'histogram',
      help: 'Waits for a connection of PostgreSQL or a reader thread of SQLite.',
      samples: () => byPool(({ waitSeconds }) => waitSeconds),
    },
    {
      name: 'chancery_pool_waiting',
      type: 'gauge',
      help: 'How many wait for a connection or a thread now.',
      samples: () => byPool(({ waiting }) => waiting()),
    },
    {
      name: 'chancery_pool_in_use',
      type: 'gauge',
      help: 'Connections or threads that are in use.',
      samples: () => byPool(({ inUse }) => inUse()),
    },
    ...healthMetrics(health),
  ];
}

function healthMetrics(health: StorageHealth): readonly Metric[] {
  return [
    {
      name: 'chancery_storage_failures_total',
      type: 'counter',
      help: 'Reads and writes that failed because of the disk, damage, or a database that is away.',
      samples: () => samplesOf('kind', health.failures),
    },
    {
      name: 'chancery_storage_faults',
      type: 'gauge',
      help: 'Places that fail now: instances, the shared data, and the files of records.',
      samples: () =>
        samplesOf('kind', Object.fromEntries(storageFaults.map((kind) => [kind, health.count(kind)]))),
    },
    {
      name: 'chancery_page_checks_total',
      type: 'counter',
      help: 'Searches for damage in the stored data, of one instance each or of the shared data.',
      samples: () => samplesOf('outcome', health.checks),
    },
    single(
      {
        name: 'chancery_page_check_timestamp_seconds',
        type: 'gauge',
        help: 'When everything was searched for damage for the last time; 0 for never.',
      },
      () => health.checkedAt / 1_000,
    ),
  ];
}
