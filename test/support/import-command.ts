import type { TestContext } from 'node:test';
import type { MainProcess } from './main-process.ts';
import { startCommand } from './start-command.ts';

/** `import pocketbase DIR …` */
export function startImport(t: TestContext, data: string, args: readonly string[]): Promise<MainProcess> {
  return startCommand(t, data, ['import', 'pocketbase', ...args]);
}
