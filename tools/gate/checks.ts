import type { Job } from './job.ts';

/** Kept between runs, by the content of files: prettier takes as long as all other stages together. */
const formatCache = [
  '--cache',
  '--cache-strategy=content',
  '--cache-location=node_modules/.cache/prettier-gate',
];

/** What tsc knows of the last run, by which it looks only at what has changed. */
function incremental(name: string): readonly string[] {
  return ['--incremental', '--tsBuildInfoFile', `node_modules/.cache/tsc/${name}.tsbuildinfo`];
}

/** The stages of the gate that are no tests. */
export const checks: readonly Job[] = [
  { name: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', ...formatCache, '.'] },
  { name: 'lint', command: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
  { name: 'types', command: 'tsc', args: ['--noEmit', ...incremental('service')] },
  {
    name: 'types of the dashboard',
    command: 'tsc',
    args: ['-p', 'dashboard', '--noEmit', ...incremental('dashboard')],
  },
  {
    name: 'types of the kit',
    command: 'tsc',
    args: ['-p', 'kit/tsconfig.build.json', '--noEmit', ...incremental('kit')],
  },
  { name: 'dead code', command: 'knip', args: ['--no-progress', '--no-config-hints'] },
  { name: 'tidy', command: process.execPath, args: ['tools/tidy.ts'] },
  { name: 'commit subjects', command: process.execPath, args: ['tools/subjects.ts'] },
];

/** What tests serve. */
export const dashboard: Job = {
  name: 'dashboard',
  command: process.execPath,
  args: ['tools/build-dashboard.ts', '--if-stale'],
};
