import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '../build/root.ts';
import { readTap, type TestRun } from './read-tap.ts';

/** A process of the gate. */
export interface Job {
  /** What it is called in the output, and by which its time is remembered. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where it writes what became of its tests, if it runs any. */
  readonly tap?: string;
}

export interface JobEnd {
  readonly job: Job;
  /** What became of its tests; undefined for one without. */
  readonly tests: TestRun | undefined;
  readonly passed: boolean;
  /** What it has printed. */
  readonly output: string;
  readonly seconds: number;
}

/** A limit for hangs only: many times what the longest job takes on a slow and busy machine. */
const timeoutMs = 900_000;

/** How long the rest of the output of a process that has ended is waited for. */
const readMs = 5_000;
/** How often it is looked for processes that have reported all of their tests and do not end: Node may wait for a thread of its own in vain. */
const reportedMs = 15_000;

/** Runs a job to its end. It never rejects: a command that cannot be started has failed. */
export async function runJob(job: Job, everyMs = reportedMs): Promise<JobEnd> {
  const startedMs = performance.now();
  // The tools start with "env node": this makes it the Node of the repository.
  const binaries = join(root, 'node_modules', '.bin');
  const env = { ...process.env, ...job.env, PATH: `${binaries}${delimiter}${process.env['PATH'] ?? ''}` };
  const child = spawn(job.command, job.args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const reported = endWhenReported(child, job, everyMs);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  try {
    await once(child, 'exit');
    // What a failed test has left running may keep the streams open.
    const open = [child.stdout, child.stderr].filter((stream) => !stream.readableEnded);
    const read = Promise.all(open.map((stream) => once(stream, 'end')));
    await Promise.race([read, delay(readMs, undefined, { ref: false })]);
  } catch (error) {
    output += `could not start ${job.command}: ${String(error)}\n`;
  }
  reported.stop();
  if (child.signalCode !== null) output += `ended by ${child.signalCode}\n`;
  const seconds = (performance.now() - startedMs) / 1_000;
  const tests = job.tap === undefined ? undefined : readRun(job.tap);
  const hasEndedWell = reported.isEnded ? tests?.failures.length === 0 : child.exitCode === 0;
  return { job, tests, passed: hasEndedWell && tests?.isWhole !== false, output, seconds };
}

/** Ends a process at the second look at which all of its tests are reported. */
function endWhenReported(
  child: ChildProcess,
  { tap }: Job,
  everyMs: number,
): { readonly isEnded: boolean; stop(): void } {
  let looks = 0;
  let isEnded = false;
  const look = (): void => {
    if (tap !== undefined && readRun(tap).isWhole) looks += 1;
    if (looks === 2) isEnded = child.kill('SIGKILL');
  };
  const timer = setInterval(look, everyMs);
  return {
    get isEnded() {
      return isEnded;
    },
    stop: () => clearInterval(timer),
  };
}

function readRun(path: string): TestRun {
  return readTap(existsSync(path) ? readFileSync(path, 'utf8') : '');
}
