import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A process of the benchmark, on a processor of its own where the system can do that. */
export interface Child {
  /** What it printed on its first line that has it: its address. */
  readonly url: string;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const stopMsMax = 20_000;
export const compileCache = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));
const canPin = spawnSync('taskset', ['--version']).status === 0;

/** Starts `node <file> …args` and waits for a line with an http address. `core` pins it, so that load and server do not share one. */
export async function startChild(
  file: string,
  args: readonly string[],
  options: { readonly core?: number } = {},
): Promise<Child> {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  return startProgram([process.execPath, path, ...args], options);
}

/** The same of any program. */
export async function startProgram(
  command: readonly string[],
  options: { readonly core?: number } = {},
): Promise<Child> {
  const pinned =
    options.core !== undefined && canPin ? ['taskset', '-c', String(options.core), ...command] : command;
  const [program = '', ...rest] = pinned;
  // As `npm start` does: without the first, Node would load a compiler to strip the types of the first file.
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache, MALLOC_ARENA_MAX: '2' };
  const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  // A question that fails ends this process, and must leave no server behind.
  const end = (): boolean => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0];
    if (url !== undefined) return { url, pid: child.pid, stop: () => stop(child) };
  }
  throw new Error(`${command.join(' ')} ended before it said where it listens`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  // One whose event loop stands still would take minutes.
  const killing = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
  await exited;
  clearTimeout(killing);
}
