import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * Returns the environment for a thread of this service: nothing of the process's, which could name a proxy, but the directory of
 * Node's compile cache, which threads do not inherit. Without it each thread strips the types of its modules again: slower, and
 * 30 MiB more.
 */
export function threadEnvironment(): Record<string, string> {
  const directory = getCompileCacheDir();
  // The parent, as Node appends a folder for its version each time.
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
}
