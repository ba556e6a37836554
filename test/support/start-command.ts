import type { TestContext } from 'node:test';
import { startMain, type MainProcess } from './main-process.ts';
import { runInProcess, type CommandResult } from './run-in-process.ts';
import { testConfig } from './test-config.ts';

/** Runs a command in this process over the same data that a service of this directory uses. */
export async function runCommandOver(data: string, args: readonly string[]): Promise<CommandResult> {
  const { flags, environment } = await placeOfDirectory(data);
  return runInProcess([...args, ...flags], { environment });
}

/** Starts the command in a process of its own. */
export async function startCommand(
  t: TestContext,
  data: string,
  args: readonly string[],
): Promise<MainProcess> {
  const { flags, environment } = await placeOfDirectory(data);
  return startMain(t, [...args, ...flags], environment);
}

/** Returns the flags and variables that name the data of this directory, or the database that stands for it. */
export async function placeOfDirectory(data: string): Promise<{
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}> {
  const { postgres, masterKey } = await testConfig(data);
  const place = postgres === undefined ? [] : ['--postgres', postgres.url];
  return { flags: ['--data', data, ...place], environment: { CHANCERY_KEY: masterKey.text ?? '' } };
}
