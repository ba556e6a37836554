/**
 * The gate, which is exactly what CI runs: types, lint, format, tidy, dead code, tests.
 *
 *   npm test                      the gate, with a sample of the tests that take long; in CI (CI=true) no test runs when a stage before
 *                                 them fails
 *   npm run test:all              the same with every test whole
 *   npm run check                 the same stages, but only the tests of src/, kit/ and test/api/, on SQLite: for every edit
 *   npm test -- src/filters       only the tests of this folder or file, whole, and none of the other stages
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { groupTests } from './group-tests.ts';
import { isForEachEngine, isOneEngineEnough } from './is-for-each-engine.ts';
import { readTap, type TestRun } from './read-tap.ts';

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
/** A limit for a run that hangs in spite of that one: many times what it takes. */
const stageTimeoutMs = 4_500_000;

const engines = ['sqlite', 'postgres'] as const;
type Engine = (typeof engines)[number];

/** Remembers which texts are laid out already, by their content: prettier takes as long as all other stages before the tests. */
const formatCache = [
  '--cache',
  '--cache-strategy=content',
  '--cache-location=node_modules/.cache/prettier-gate',
];

/** The stages before the tests. They run beside each other. */
const checks: readonly Stage[] = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  { name: 'types of the kit', command: 'tsc', args: ['-p', 'kit/tsconfig.build.json', '--noEmit'] },
  { name: 'types of the dashboard', command: 'tsc', args: ['-p', 'dashboard'] },
  { name: 'lint', command: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
  { name: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', ...formatCache, '.'] },
  { name: 'tidy', command: process.execPath, args: ['tools/tidy.ts'] },
  { name: 'dead code', command: 'knip', args: ['--no-progress', '--no-config-hints'] },
];

const quick = '--quick';
const all = '--all';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const isQuick = args.includes(quick);
  const paths = args.filter((arg) => arg !== quick && arg !== all);
  const isSample = paths.length === 0 && !args.includes(all);
  const files = findTests(isQuick ? ['src', 'kit', 'test/api'] : paths);
  if (files.length === 0) {
    console.error(
      `expected test files (*.test.ts), found none in ${paths.join(', ') || 'src, kit and test'}`,
    );
    return 1;
  }
  const failed = [...(await runBeside(paths.length === 0 ? checks : []))];
  const [first] = failed;
  if (inCi && first !== undefined) return giveUp(first);
  // Once, rather than in each of the processes that serve it.
  runStage({
    name: 'dashboard',
    command: process.execPath,
    args: ['tools/build-dashboard.ts', '--if-stale'],
  });
  const folder = mkdtempSync(join(tmpdir(), 'chancery-groups-'));
  try {
    failed.push(...runTests(files, { folder, engines: isQuick ? ['sqlite'] : engines, isSample }));
    return summarise(failed, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs stages beside each other and prints what each has to say, one after the other. Returns the names of those that failed. */
async function runBeside(stages: readonly Stage[]): Promise<readonly string[]> {
  const running = stages.map((stage) => ({ name: stage.name, ended: runQuietly(stage) }));
  const failed: string[] = [];
  for (const { name, ended } of running) {
    const { passed, output, seconds } = await ended;
    console.log(`\n== ${name}`);
    process.stdout.write(output);
    console.log(`   ${passed ? 'ok' : 'FAILED'} in ${seconds.toFixed(1)} s`);
    if (!passed) failed.push(name);
  }
  return failed;
}

interface StageEnd {
  readonly passed: boolean;
  readonly output: string;
  readonly seconds: number;
}

async function runQuietly({ command, args }: Stage): Promise<StageEnd> {
  const startedMs = performance.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: environmentOf() });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  try {
    await once(child, 'close');
  } catch (error) {
    output += `could not start ${command}: ${String(error)}\n`;
  }
  const seconds = (performance.now() - startedMs) / 1000;
  return { passed: child.exitCode === 0, output, seconds };
}

interface TestChoice {
  /** Where files for the run are made. */
  readonly folder: string;
  readonly engines: readonly Engine[];
  readonly isSample: boolean;
}

/** Returns the names of the stages that failed. */
function runTests(
  files: readonly string[],
  { folder, engines: chosenEngines, isSample }: TestChoice,
): readonly string[] {
  const isSharing = (file: string): boolean => isForEachEngine(root, file);
  return chosenEngines.flatMap((engine) => {
    const isOnBoth = (file: string): boolean => isSharing(file) && !isOneEngineEnough(root, file);
    const chosen = engine === 'sqlite' ? files : files.filter(isOnBoth);
    // Without a file argument, Node would run every test that it finds.
    if (chosen.length === 0) return [];
    const groups = groupTests(chosen, { root, folder: join(folder, engine), isSharing });
    const stage = testStage(groups, { engine, tap: tapOf(folder, engine), isSample });
    return runStage(stage) ? [] : [stage.name];
  });
}

/** Prints a few lines that say what failed and where, and a last line with the counts. Returns the exit code. */
function summarise(failedStages: readonly string[], folder: string): number {
  console.log('\n== summary');
  for (const name of failedStages) console.log(`${name}: failed`);
  const runs = engines.map((engine) => ({ engine, ...readRun(tapOf(folder, engine)) }));
  for (const { engine, failures = [] } of runs)
    for (const { title, place, error } of failures)
      console.log(`${relative(root, place)} (${engine}) ${title}: ${error}`);
  const sum = (count: (run: Partial<TestRun>) => number): number =>
    runs.reduce((total, run) => total + count(run), 0);
  // A stage that failed without a failed test counts as one.
  const failed = Math.max(
    sum(({ failures = [] }) => failures.length),
    failedStages.length,
  );
  console.log(
    `${sum(({ passed = 0 }) => passed)} passed, ${failed} failed, ${sum(({ skipped = 0 }) => skipped)} skipped`,
  );
  return failed === 0 ? 0 : 1;
}

function tapOf(folder: string, engine: string): string {
  return join(folder, `${engine}.tap`);
}

function readRun(path: string): TestRun | undefined {
  return existsSync(path) ? readTap(readFileSync(path, 'utf8')) : undefined;
}

function giveUp(name: string): number {
  console.log(`\n${name} failed; the tests did not run\n0 passed, 1 failed`);
  return 1;
}

function testStage(
  groups: readonly string[],
  { engine, tap, isSample }: { engine: Engine; tap: string; isSample: boolean },
): Stage {
  const options = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${tap}`,
    `--test-concurrency=${processesMax}`,
    `--test-timeout=${testTimeoutMs}`,
    // What a failed test has left running ends with its process, which the run would wait for otherwise.
    '--test-force-exit',
    '--test-global-setup=test/support/run-setup.ts',
  ];
  return {
    name: `tests on ${engine} (${groups.length} processes)`,
    command: process.execPath,
    args: ['--test', ...options, ...groups],
    // Loading the service takes as long as some tests, so test processes use the compile cache of the product.
    env: {
      CHANCERY_TEST_ENGINE: engine,
      CHANCERY_TEST_SAMPLE: isSample ? '1' : '0',
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    },
  };
}

function runStage({ name, command, args, env }: Stage): boolean {
  console.log(`\n== ${name}`);
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: environmentOf(env),
    timeout: stageTimeoutMs,
  });
  if (result.error !== undefined) console.error(`could not start ${command}: ${result.error.message}`);
  return result.status === 0;
}

function environmentOf(own: Stage['env'] = {}): NodeJS.ProcessEnv {
  // The tools start with "env node": this makes it the Node of the repository.
  return { ...process.env, ...own, PATH: `${binaries}${delimiter}${process.env['PATH'] ?? ''}` };
}

function findTests(paths: readonly string[]): readonly string[] {
  const starts = paths.length === 0 ? ['src', 'kit', 'test'] : paths;
  const files = starts.flatMap((start) => {
    const found = statSync(join(root, start), { throwIfNoEntry: false });
    return found?.isDirectory() === true
      ? globSync(`${start}/**/*.test.ts`, { cwd: root })
      : globSync(start, { cwd: root });
  });
  return [...new Set(files)].toSorted();
}
