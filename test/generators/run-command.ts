import { execFile } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../tools/build/root.ts';

export interface CommandPlace {
  readonly cwd: string;
}

/** Runs a program to its end while this process goes on, which serves its requests. Returns what it has printed. */
export type Command = (program: string, args: readonly string[], place: CommandPlace) => Promise<string>;

/** Makes commands with more variables. The Node of this process and the tools of the project come first in their path. */
export function commandWith(variables: Readonly<Record<string, string>>): Command {
  const path = [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env['PATH'] ?? ''];
  const env = { ...process.env, ...variables, PATH: path.join(delimiter) };
  return async (program, args, { cwd }) => {
    try {
      const { stdout } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
      return stdout;
    } catch (error) {
      // The cast holds: a program that has failed leaves what it has printed.
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
      const printed = `${stdout}\n${stderr}`.trim().slice(0, 4_000);
      throw new Error(`${program} ${args.join(' ')} has failed: ${printed}`, { cause: error });
    }
  };
}
