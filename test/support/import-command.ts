import type { TestContext } from 'node:test';
import { startMain, type MainProcess } from './main-process.ts';
import { testConfig } from './test-config.ts';

/** `import pocketbase DIR …` as a process of its own, into what a service over the same directory would use. */
export async function startImport(
  t: TestContext,
  data: string,
  args: readonly string[],
): Promise<MainProcess> {
  const { postgres, masterKey } = await testConfig(data);
  const place = postgres === undefined ? [] : ['--postgres', postgres.url];
  const environment = { CHANCERY_KEY: masterKey.text ?? '' };
  return startMain(t, ['import', 'pocketbase', ...args, '--data', data, ...place], environment);
}
