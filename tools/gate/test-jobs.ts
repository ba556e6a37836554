import { join } from 'node:path';
import { root } from '../build/root.ts';
import { groupTests, type TestGroup } from './group-tests.ts';
import type { Job } from './job.ts';
import { mayShareProcess, runsOnBothEngines } from './test-files.ts';

type Engine = 'sqlite' | 'postgres';

export interface TestChoice {
  /** Where files for the run are made. */
  readonly folder: string;
  /** Whether tests run on SQLite only. */
  readonly isQuick: boolean;
  /** Whether long tests run a sample of what they do. */
  readonly isSample: boolean;
}

/** A limit for hangs only: the longest test takes half a minute, and several times that on a slow and busy machine. */
const testTimeoutMs = 600_000;

/** Returns the processes that run these test files: all on SQLite, and on PostgreSQL those whose first line says so. */
export function testJobs(files: readonly string[], choice: TestChoice): readonly Job[] {
  const jobsOn = (engine: Engine, chosen: readonly string[]): readonly Job[] => {
    const folder = join(choice.folder, engine);
    const groups = groupTests(chosen, { folder, isSharing: mayShareProcess });
    return groups.map((group) => testJob(group, engine, choice));
  };
  const onSqlite = jobsOn('sqlite', files);
  return choice.isQuick ? onSqlite : spread(jobsOn('postgres', files.filter(runsOnBothEngines)), onSqlite);
}

/** Puts jobs among others at equal distances, as those on PostgreSQL share one server: all at once, they would wait for it. */
export function spread(jobs: readonly Job[], others: readonly Job[]): readonly Job[] {
  const share = Math.ceil(others.length / Math.max(1, jobs.length));
  const rest = [...others];
  return [...jobs.flatMap((job) => [job, ...rest.splice(0, share)]), ...rest];
}

function testJob({ name, entry }: TestGroup, engine: Engine, { isSample }: TestChoice): Job {
  const tap = entry.replace(/\.test\.mjs$/, '.tap');
  const options = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${tap}`,
    `--test-timeout=${testTimeoutMs}`,
    // What a failed test has left running would keep its process.
    '--test-force-exit',
  ];
  return {
    name: `${name} (${engine})`,
    command: process.execPath,
    args: [...options, entry],
    tap,
    // Loading the service takes as long as some tests, so test processes use the compile cache of the product.
    env: {
      CHANCERY_TEST_ENGINE: engine,
      CHANCERY_TEST_SAMPLE: isSample ? '1' : '0',
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    },
  };
}
