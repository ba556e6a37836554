/**
 * The gate, which is exactly what CI runs: types, lint, format, tidy, dead code, tests.
 *
 *   npm test                      the whole gate; in CI (CI=true) it stops at the first stage that fails
 *   npm test -- src/filters       only the tests of this folder or file, none of the other stages
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { groupTests } from './group-tests.ts';
import { isForEachEngine } from './is-for-each-engine.ts';

interface Stage {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const binaries = join(root, 'node_modules', '.bin');
const inCi = ['true', '1'].includes(process.env['CI'] ?? '');
// One more than CI machines have processors, because many tests wait for timers and child processes.
const processesMax = 3;
// A limit for hangs only: the longest test takes half a minute, and several times that on a slow and busy machine. It applies to a
// whole process.
const testTimeoutMs = 600_000;

const checks: readonly Stage[] = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'lint', command: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
  { name: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'tidy', command: process.execPath, args: ['tools/tidy.ts'] },
  { name: 'dead code', command: 'knip', args: ['--no-progress', '--no-config-hints'] },
];

process.exitCode = main(process.argv.slice(2));

function main(paths: readonly string[]): number {
  const files = findTests(paths);
  if (files.length === 0) {
    console.error(`expected test files (*.test.ts), found none in ${paths.join(', ') || 'src and test'}`);
    return 1;
  }
  const failed: string[] = [];
  for (const check of paths.length === 0 ? checks : []) {
    if (runStage(check)) continue;
    failed.push(check.name);
    if (inCi) return giveUp(check.name);
  }
  // Printed before the tests, so that the output ends with their summary.
  if (failed.length > 0) console.log(`\nfailed before the tests: ${failed.join(', ')}`);
  const passed = runTests(files);
  return passed && failed.length === 0 ? 0 : 1;
}

function runTests(files: readonly string[]): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-groups-'));
  const isSharing = (file: string): boolean => isForEachEngine(root, file);
  try {
    const groups = groupTests(files, { root, folder: join(folder, 'sqlite'), isSharing });
    const passedOnSqlite = runStage(testStage(groups, 'sqlite'));
    const forEach = groupTests(files.filter(isSharing), {
      root,
      folder: join(folder, 'postgres'),
      isSharing,
    });
    // Without a file argument, Node would run every test that it finds.
    const passedOnPostgres = forEach.length === 0 || runStage(testStage(forEach, 'postgres'));
    return passedOnSqlite && passedOnPostgres;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function giveUp(name: string): number {
  console.log(`\n${name} failed; the tests did not run\n0 passed, 1 failed`);
  return 1;
}

function testStage(groups: readonly string[], engine: 'sqlite' | 'postgres'): Stage {
  const options = [
    `--test-concurrency=${processesMax}`,
    `--test-timeout=${testTimeoutMs}`,
    '--test-global-setup=test/support/run-setup.ts',
  ];
  return {
    name: `tests on ${engine} (${groups.length} processes)`,
    command: process.execPath,
    args: ['--test', '--test-reporter=spec', ...options, ...groups],
    // Loading the service takes as long as some tests, so test processes use the compile cache of the product.
    env: {
      CHANCERY_TEST_ENGINE: engine,
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    },
  };
}

function runStage({ name, command, args, env }: Stage): boolean {
  console.log(`\n== ${name}`);
  const startedMs = performance.now();
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // The tools start with "env node": this makes it the Node of the repository.
    env: { ...process.env, ...env, PATH: `${binaries}${delimiter}${process.env['PATH'] ?? ''}` },
  });
  if (result.error !== undefined) console.error(`could not start ${command}: ${result.error.message}`);
  const passed = result.status === 0;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  // Node's own summary ends the output of tests.
  if (!name.startsWith('tests')) console.log(`   ${passed ? 'ok' : 'FAILED'} in ${seconds} s`);
  return passed;
}

function findTests(paths: readonly string[]): readonly string[] {
  const starts = paths.length === 0 ? ['src', 'test'] : paths;
  const files = starts.flatMap((start) => {
    const found = statSync(join(root, start), { throwIfNoEntry: false });
    return found?.isDirectory() === true
      ? globSync(`${start}/**/*.test.ts`, { cwd: root })
      : globSync(start, { cwd: root });
  });
  return [...new Set(files)].toSorted();
}
