import type { TestContext } from 'node:test';
import { startMain, type MainProcess } from './main-process.ts';
import { testConfig } from './test-config.ts';

/** Starts a command in a process of its own, over the same data that a service of this directory uses. */
export async function startCommand(
  t: TestContext,
  data: string,
  args: readonly string[],
): Promise<MainProcess> {
  const { postgres, masterKey } = await testConfig(data);
  const place = postgres === undefined ? [] : ['--postgres', postgres.url];
  const environment = { CHANCERY_KEY: masterKey.text ?? '' };
  return startMain(t, [...args, '--data', data, ...place], environment);
}
