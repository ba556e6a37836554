/** For `node --test --test-global-setup`: one PostgreSQL server for all test files of a run, each of which is a process of its own. */
import { startTestPostgres, type TestPostgres } from './postgres.ts';

let server: TestPostgres | undefined;

export async function globalSetup(): Promise<void> {
  if (process.env['CHANCERY_TEST_POSTGRES'] !== undefined) return;
  server = await startTestPostgres();
  process.env['CHANCERY_TEST_POSTGRES'] = server.url;
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
}
