import { type ChildProcess, spawn } from 'node:child_process';
import { basename } from 'node:path';
import { getRawAsset } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { build } from './build.ts';
import { processEnvironmentOfThreads } from './process.ts';

/**
 * Starts a thread of this service. `file` is its `…-worker.ts` among the sources. A package has a file of that name in JavaScript
 * beside its bundle. The executable has the code inside, as there are no files there with which a thread could begin.
 */
export function startThread(
  file: URL,
  options: Pick<WorkerOptions, 'name' | 'workerData' | 'resourceLimits'>,
): Worker {
  const script = basename(file.pathname).replace(/\.ts$/, '.js');
  const env = processEnvironmentOfThreads();
  switch (build.form) {
    case 'sources':
      return new Worker(file, { ...options, env });
    case 'package':
      return new Worker(new URL(script, file), { ...options, env });
    default:
      return new Worker(codeOf(script), { ...options, env, eval: true });
  }
}

/** As {@link startThread}, as a process of its own, which can be killed whatever it does. The executable starts itself: main.ts. */
export function startProcess(file: URL): ChildProcess {
  const script = basename(file.pathname).replace(/\.ts$/, '.js');
  const path = fileURLToPath(build.form === 'package' ? new URL(script, file) : file);
  const args = build.form === 'executable' ? ['view-reader'] : ['--no-warnings', path];
  return spawn(process.execPath, args, {
    // Nothing of ours: what it runs is written by clients.
    env: processEnvironmentOfThreads(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
}

/** Compressed, as the code of a host is nearly all of the code again. */
function codeOf(script: string): string {
  return gunzipSync(new Uint8Array(getRawAsset(`${script}.gz`))).toString('utf8');
}
