import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd } from './at-end.ts';

export interface Child {
  /** The first line it printed; undefined when it ended without one. */
  readonly line: string | undefined;
  /** Kills the process as `kill -9` does; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts `node <file> …args`, a path in the repository, and waits for its first line. It is killed when the test ends. */
export async function startChild(t: TestContext, file: string, args: readonly string[]): Promise<Child> {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  atEnd(t, kill);
  return { line: await firstLine(child), kill };
}

async function firstLine(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  for await (const line of createInterface({ input: child.stdout })) return line;
  return undefined;
}
