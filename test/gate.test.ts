import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { root } from '../tools/build/root.ts';
import { type Job, type JobEnd, runJob } from '../tools/gate/job.ts';
import { LastTimes } from '../tools/gate/last-times.ts';
import { runPool } from '../tools/gate/pool.ts';
import { smokeTests } from '../tools/gate/smoke-tests.ts';
import {
  findTests,
  hasEngineHeader,
  mayShareProcess,
  runsOnBothEngines,
  testsOf,
  usesEngineOfRun,
} from '../tools/gate/test-files.ts';
import { spread } from '../tools/gate/test-jobs.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-gate-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function script(name: string, text: string): Job {
  return { name, command: process.execPath, args: ['--eval', text] };
}

/** A process of tests: those of this text. */
function testScript(t: TestContext, text: string): Job {
  const folder = folderOf(t);
  const entry = join(folder, 'some.test.mjs');
  const tap = join(folder, 'some.tap');
  writeFileSync(entry, `import { test } from 'node:test';\n${text}`);
  const args = ['--test-reporter=tap', `--test-reporter-destination=${tap}`, '--test-force-exit', entry];
  // Without NODE_TEST_CONTEXT, which would make it a part of this run.
  return { name: 'some', command: process.execPath, args, tap, env: { NODE_TEST_CONTEXT: '' } };
}

test('jobs begin in their order, and none after one that ends the run', async () => {
  const ends: JobEnd[] = [];
  const jobs = ['0', '0', '1', '0'].map((code, at) => script(String(at), `process.exit(${code})`));
  await runPool(jobs, {
    atOnce: 1,
    onEnd: (end) => {
      ends.push(end);
      return end.passed;
    },
  });
  assert.deepEqual(
    ends.map(({ job, passed }) => [job.name, passed]),
    [
      ['0', true],
      ['1', true],
      ['2', false],
    ],
  );
});

test('a job fails that cannot be started, that is killed, and whose process ends before its tests', async (t) => {
  const missing = await runJob({ name: 'missing', command: '/missing', args: [] });
  assert.equal(missing.passed, false);
  assert.match(missing.output, /could not start \/missing/);
  const killed = await runJob(script('killed', "process.kill(process.pid, 'SIGKILL')"));
  assert.equal(killed.passed, false);
  assert.match(killed.output, /ended by SIGKILL/);
  const early = await runJob(
    testScript(t, "test('ends', () => process.exit(0)); test('never runs', () => { throw new Error(); });"),
  );
  assert.equal(early.passed, false);
});

test('all is shown that a job has printed, however much', async () => {
  const { output } = await runJob(script('prints', "process.stdout.write('x'.repeat(2_000_000))"));
  assert.equal(output.length, 2_000_000);
});

test('what a failed test leaves running ends with its process, and what many tests report is whole', async (t) => {
  const end = await runJob(
    testScript(
      t,
      "for (let n = 0; n < 1_000; n += 1) test(`${n}`, () => {}); test('leaks', () => { setInterval(() => {}, 1_000); throw new Error(); });",
    ),
  );
  assert.equal(end.passed, false);
  assert.equal(end.tests?.passed, 1_000);
  assert.deepEqual(
    end.tests.failures.map(({ title }) => title),
    ['leaks'],
  );
});

test('a process that has reported its tests and does not end is ended, and passes if they have', async (t) => {
  const hang = "process.on('exit', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));";
  const passed = await runJob(testScript(t, `${hang} test('passes', () => {});`), 50);
  assert.equal(passed.passed, true, passed.output);
  const failed = await runJob(testScript(t, `${hang} test('fails', () => { throw new Error(); });`), 50);
  assert.equal(failed.passed, false);
});

test('those begin first that took longest last time, and those of which nothing is known before them', (t) => {
  const path = join(folderOf(t), 'cache', 'times.json');
  const jobs = ['a', 'b', 'c', 'd'].map((name) => script(name, ''));
  const names = (): readonly string[] => new LastTimes(path).longestFirst(jobs).map(({ name }) => name);
  assert.deepEqual(names(), ['a', 'b', 'c', 'd']);
  const times = new LastTimes(path);
  for (const [name, seconds] of [
    ['a', 1],
    ['b', 20.04],
    ['d', 3],
  ] as const)
    times.note({ job: script(name, ''), seconds, passed: true, output: '', tests: undefined });
  times.save();
  assert.deepEqual(names(), ['c', 'b', 'd', 'a']);
  writeFileSync(path, '{"a":');
  assert.deepEqual(names(), ['a', 'b', 'c', 'd']);
});

test('a quick run has the tests of what was changed, and some of everything', () => {
  const tests = findTests([]);
  const ofParser = testsOf(['src/filters/parse.ts'], tests);
  assert.ok(ofParser.includes('src/filters/parse.test.ts'));
  // It is a part of every service, and a test of the API would be one of each file.
  assert.ok(!ofParser.includes('test/api/records.test.ts'), ofParser.join(' '));
  assert.deepEqual(testsOf(['test/api/records.test.ts'], tests), ['test/api/records.test.ts']);
  assert.deepEqual(
    smokeTests.filter((file) => !tests.includes(file)),
    [],
  );
});

test('jobs on PostgreSQL begin at equal distances among the others, and none is left out', () => {
  const names = (mine: readonly string[], others: readonly string[]): string =>
    spread(
      mine.map((name) => script(name, '')),
      others.map((name) => script(name, '')),
    )
      .map(({ name }) => name)
      .join('');
  assert.equal(names(['P', 'Q'], ['a', 'b', 'c', 'd', 'e']), 'PabcQde');
  assert.equal(names(['P', 'Q', 'R'], ['a']), 'PaQR');
  assert.equal(names([], ['a', 'b']), 'ab');
});

test('a test file runs on both engines if its first line says why, and nearly saying so is refused', () => {
  assert.equal(hasEngineHeader('a', "// Both engines: filters compile to SQL of each.\nimport 'b';\n"), true);
  assert.equal(hasEngineHeader('a', "import 'b';\n\n/** Both engines do this. */\n"), false);
  for (const text of [
    '// Both engines',
    '// Both engines: .',
    '// Both engines: no full stop',
    '// both engines: filters.',
    '// Both engine: filters.',
    '/* Both engines: filters. */',
    '// One engine is enough: filters.',
    "import 'b';\n// Both engines: filters.",
  ])
    assert.throws(() => hasEngineHeader('a', text), /a: expected "\/\/ Both engines: <why>\."/, text);
});

test('tests of units and of services share processes, those that start processes have one each', () => {
  assert.equal(mayShareProcess('src/filters/parse.test.ts'), true);
  assert.equal(mayShareProcess('test/api/records.test.ts'), true);
  assert.equal(mayShareProcess('test/shipping/package.test.ts'), false);
});

test('only files that use the engine of the run say that they run on both', () => {
  assert.equal(usesEngineOfRun('test/api/records.test.ts'), true);
  assert.equal(usesEngineOfRun('src/filters/parse.test.ts'), false);
  const onBoth = findTests([]).filter(runsOnBothEngines);
  assert.ok(onBoth.length > 100);
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  // Their tests would run on each engine twice.
  const withOwn = /\b(?:describeEngines|startTestPostgres|openPostgresDatabase|NodeGroup)\b/;
  assert.deepEqual(
    onBoth.filter((file) => withOwn.test(read(file))),
    [],
  );
  // What differs by the engine of the run is not seen on one of them.
  const asksWhich = /\b(?:testEngine|databaseOf)\b/;
  assert.deepEqual(
    findTests([]).filter((file) => asksWhich.test(read(file)) && !onBoth.includes(file)),
    ['test/gate.test.ts'],
  );
});

test('tests of the API start no process of the service', () => {
  const starts = /support\/main-process\.ts'/;
  assert.deepEqual(
    findTests(['test/api']).filter((file) => starts.test(readFileSync(join(root, file), 'utf8'))),
    [],
  );
});
