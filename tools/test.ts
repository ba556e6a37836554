/**
 * The gate, which is exactly what CI runs: types, lint, format, tidy, dead code, tests.
 *
 *   npm test                      the gate, with a sample of the tests that take long; in CI (CI=true) nothing more begins when a stage before
 *                                 them has failed
 *   npm run test:all              the same with every test whole
 *   npm run check                 the same stages, but only the tests of what was changed and a few of everything, on SQLite: for every edit
 *   npm test -- src/filters       only the tests of this folder or file, whole, and none of the other stages
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { globalSetup, globalTeardown } from '../test/support/run-setup.ts';
import { root } from './build/root.ts';
import { changedFiles } from './gate/changed-files.ts';
import { checks, dashboard } from './gate/checks.ts';
import { type Job, type JobEnd, runJob } from './gate/job.ts';
import { LastTimes } from './gate/last-times.ts';
import { runPool } from './gate/pool.ts';
import { smokeTests } from './gate/smoke-tests.ts';
import { findTests, testsOf } from './gate/test-files.ts';
import { testJobs } from './gate/test-jobs.ts';

const inCi = ['true', '1'].includes(process.env['CI'] ?? '');
/** One more than CI machines have processors, because many tests wait for timers and other processes. */
const atOnce = 3;

const quick = '--quick';
const all = '--all';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const isQuick = args.includes(quick);
  const paths = args.filter((arg) => arg !== quick && arg !== all);
  const files = isQuick ? quickTests() : findTests(paths);
  if (files.length === 0) {
    console.error(
      `expected test files (*.test.ts), found none in ${paths.join(', ') || 'src, kit and test'}`,
    );
    return 1;
  }
  const isSample = paths.length === 0 && !args.includes(all);
  const folder = mkdtempSync(join(tmpdir(), 'chancery-gate-'));
  try {
    const tests = testJobs(files, { folder, isQuick, isSample });
    return await run(paths.length === 0 ? checks : [], tests);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The tests of what was changed since the last commit, or by it, and some of everything. */
function quickTests(): readonly string[] {
  return [...new Set([...smokeTests, ...testsOf(changedFiles(), findTests([]))])];
}

/** Runs stages, and tests beside them. Returns the exit code. */
async function run(stages: readonly Job[], tests: readonly Job[]): Promise<number> {
  // Once, rather than in each of the processes that serve it, or use what all of them share.
  const [built] = await Promise.all([runJob(dashboard), globalSetup()]);
  const times = new LastTimes(join(root, 'node_modules', '.cache', 'gate-times.json'));
  const jobs = [...stages, ...times.longestFirst(tests)];
  const ends: JobEnd[] = [];
  const onEnd = (end: JobEnd): boolean => {
    ends.push(end);
    times.note(end);
    report(end, `${ends.length} of ${jobs.length}`);
    return end.passed || !inCi || !stages.includes(end.job);
  };
  try {
    if (built.passed) await runPool(jobs, { atOnce, onEnd });
    else report(built, 'before all others');
  } finally {
    await globalTeardown();
  }
  times.save();
  return summarise(built.passed ? ends : [built]);
}

/** Prints a line for a job that has passed, and all that it has said otherwise. */
function report({ job, passed, output, seconds }: JobEnd, place: string): void {
  if (passed) return console.log(`ok     ${seconds.toFixed(1).padStart(6)} s  ${job.name} (${place})`);
  console.log(`FAILED ${seconds.toFixed(1).padStart(6)} s  ${job.name} (${place})\n${output}`);
}

/** Prints a few lines that say what failed and where, and a last line with the counts. Returns the exit code. */
function summarise(ends: readonly JobEnd[]): number {
  console.log('\n== summary');
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const { job, tests, passed: isOk } of ends) {
    const failures = tests?.failures ?? [];
    for (const { title, place, error } of failures)
      console.log(`${relative(root, place)} (${job.env?.['CHANCERY_TEST_ENGINE']}) ${title}: ${error}`);
    // A process that failed without a failed test counts as one.
    if (!isOk && failures.length === 0) console.log(`${job.name}: failed`);
    passed += tests?.passed ?? 0;
    skipped += tests?.skipped ?? 0;
    failed += isOk ? failures.length : Math.max(1, failures.length);
  }
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
}
