import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openTestPostgres } from '../support/postgres.ts';
import { notInSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const bench = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

/** What it prints of a question, as far as it is no time. */
interface Line {
  readonly what: string;
  readonly engine: string;
  readonly perSecond: number;
  readonly ceilingPerSecond: number;
  readonly ratio: number | null;
  readonly runs: number;
  readonly openMost?: number;
}

test('the benchmark of creates tells how far they are from an empty route, and from mere inserts', async (t) => {
  const lines = await runBench(t, ['create']);
  assertCompared(lines);
  assert.deepEqual(
    lines.map(({ what, engine, runs }) => ({ what, engine, runs })),
    [
      { what: 'create, durable, one endpoint', engine: 'sqlite', runs: 1 },
      { what: 'the same, of mere inserts', engine: 'sqlite', runs: 1 },
      { what: 'mere inserts', engine: 'sqlite', runs: 1 },
    ],
  );
});

test(
  'the benchmark of views tells how far they are from an empty route on PostgreSQL',
  notInSample,
  async (t) => {
    const { url } = await openTestPostgres();
    const lines = await runBench(t, ['view', '--rows', '500', '--postgres', url]);
    assertCompared(lines);
    assert.deepEqual(
      lines.map(({ what, engine }) => ({ what, engine })),
      [
        { what: 'view by id, 100 records in turn', engine: 'postgres' },
        { what: 'view by id, all records in turn', engine: 'postgres' },
      ],
    );
  },
);

test('the benchmark of webhooks tells of each promise', { timeout: 180_000, ...notInSample }, async (t) => {
  const lines = await runBench(t, ['webhooks', '--rows', '200']);
  assert.deepEqual(
    lines.map(({ what }) => what),
    [
      'from commit to arrival at 500 creates a second',
      'from commit to arrival at 2000 creates a second',
      'p99 from commit to arrival beside 256 endpoints of another instance that hang',
      'longest gap between webhooks beside 5 endpoints of another instance that turn silent',
      'recovery of an endpoint with 200 waiting',
      'p99 of creates beside a flood of creates in another instance',
      'requests about endpoints with 200 waiting',
      'replay of 200 events',
    ],
  );
  const recovery = lines.find(({ what }) => what.startsWith('recovery'));
  assert.ok(
    (recovery?.openMost ?? Infinity) <= 16,
    'never more requests than the endpoint may have in flight',
  );
});

test('the benchmark of a flood tells what it does to a neighbour', { timeout: 180_000 }, async (t) => {
  const lines = await runBench(t, ['flood']);
  assert.deepEqual(
    lines.map(({ what }) => what),
    ['views', 'lists', 'creates'].flatMap((name) => [
      `views beside a flood of ${name}`,
      `creates beside a flood of ${name}`,
    ]),
  );
});

test('the benchmark of realtime tells of each promise', notInSample, async (t) => {
  const lines = await runBench(t, ['realtime', '--rows', '20']);
  assert.deepEqual(
    lines.map(({ what }) => what),
    [
      'memory of 20 realtime connections that are idle',
      'from commit to the last byte at 20 realtime clients',
      'from commit to the only realtime client',
      'from commit to the one of 20 realtime clients who may see it',
    ],
  );
});

/** As short as can be: nothing here asks how fast anything is. It throws when an answer is not what it was to be. */
async function runBench(t: TestContext, args: readonly string[]): Promise<readonly Line[]> {
  const temporary = temporaryFolder(t);
  const short = ['--runs', '1', '--seconds', '0.2', '--warm-up', '0'];
  const child = spawn(process.execPath, [bench, ...args, ...short], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGTERM'));
  const [output, told] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  assert.equal(child.exitCode, 0, told);
  assert.deepEqual(readdirSync(temporary), []);
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  // Of this form, as the tests above find.
  const found = lines.map((line) => JSON.parse(line) as Line);
  for (const { what } of found) assert.ok(told.includes(what), told);
  return found;
}

/** Of lines that tell of a ceiling. In so short a time a busy disk may have written nothing, which leaves no ratio. */
function assertCompared(lines: readonly Line[]): void {
  for (const { perSecond, ceilingPerSecond, ratio, what } of lines) {
    assert.ok(perSecond >= 0 && ceilingPerSecond >= 0, what);
    assert.ok(ratio === null ? ceilingPerSecond === 0 : ratio >= 0, what);
  }
}
