import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { open } from 'node:fs/promises';
import { readFileSync } from 'node:fs';

const lookMs = 1_000;
const looksMax = 60;
/** Event loop utilization below which a second counts as calm: no requests are being answered. */
const calmShare = 0.05;

/**
 * Returns the memory that the start has left behind to the system, once, in the first calm second of the first minute: ten
 * megabytes that V8 would otherwise keep while the server is idle. It blocks the event loop for up to a tenth of a second.
 */
export function releaseMemoryWhenIdle(): void {
  let before = performance.eventLoopUtilization();
  let looks = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    looks += 1;
    const isCalm = utilization < calmShare;
    if (isCalm || looks === looksMax) clearInterval(timer);
    if (isCalm) collectAll();
  }, lookMs).unref();
}

function collectAll(): void {
  setFlagsFromString('--expose-gc');
  // The flag adds `gc` to contexts that are made while it is set, and `gc` has this type.
  const collect = runInNewContext('gc') as (how: { type: 'major'; flavor: 'last-resort' }) => void;
  // Node's compile cache depends on V8's flags: left on, this one would make it useless for later modules.
  setFlagsFromString('--no-expose-gc');
  // The only kind that returns pages to the system, those of the young generation as well.
  collect({ type: 'major', flavor: 'last-resort' });
}

/**
 * Returns the environment for a thread of this service: nothing of the process's, which could name a proxy, but the directory of
 * Node's compile cache, which threads do not inherit. Without it each thread strips the types of its modules again: slower, and
 * 30 MiB more.
 */
export function processEnvironmentOfThreads(): Record<string, string> {
  const directory = getCompileCacheDir();
  // The parent, as Node appends a folder for its version each time.
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
}

/** Syncs a directory, so that the names of its files outlast a power failure. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The code of an error of Node or of a driver (`ENOENT`, `CERT_HAS_EXPIRED`), or an empty text. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** Whether a process of this machine runs. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Splits items into runs of at most `max` in total size, keeping their order; a single larger item is a run of its own. */
export function partsBySize<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
  max: number,
): readonly (readonly Item[])[] {
  const parts: Item[][] = [];
  let part: Item[] | undefined;
  let size = 0;
  for (const item of items) {
    const its = sizeOf(item);
    if (part === undefined || size + its > max) {
      part = [];
      parts.push(part);
      size = 0;
    }
    part.push(item);
    size += its;
  }
  return parts;
}

/** The files in which Linux reports the limits of this process. */
const linuxLimits = '/proc/self/limits';

/**
 * Returns how many files and connections this process may have open at once; infinity where that is not limited. Node has raised the
 * limit to the highest that it may have when it started.
 */
export function openFilesMax(path = linuxLimits): number {
  const max = Number(/^Max open files +(\d+)/m.exec(readLimits(path))?.[1]);
  return Number.isNaN(max) ? reportedMax() : max;
}

function readLimits(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // Other systems have no such file.
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}

/** Part of Node's diagnostic report: a limit is a number or `unlimited`. Windows has none of them. */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/** Takes some milliseconds. */
function reportedMax(): number {
  const reporter = process.report;
  // Otherwise the report looks up the names of all peers.
  Object.assign(reporter, { excludeNetwork: true });
  // The cast holds: a report is an object, and each part of it is optional here.
  const report = reporter.getReport() as Report;
  const max = report.userLimits?.open_files?.soft;
  return typeof max === 'number' ? max : Number.POSITIVE_INFINITY;
}
