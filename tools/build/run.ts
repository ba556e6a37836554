import { spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { root } from './root.ts';

/** Runs a program or tool to its end, with the Node that runs this one for those that begin with `env node`. Returns what it has written. */
export function run(command: string, args: readonly string[], { cwd }: { readonly cwd: string }): string {
  const path = [
    dirname(process.execPath),
    join(root, 'node_modules', '.bin'),
    process.env['PATH'] ?? '',
  ].join(delimiter);
  const { stdout, stderr, status, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PATH: path },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) throw new Error(`${command} cannot be run: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} has failed: ${stderr || stdout}`);
  return stdout;
}
