import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startService, type TestService } from './service.ts';

/** Asserts that a service starts again over its files: whatever was accepted must be readable. */
export async function assertReopens(t: TestContext, service: TestService): Promise<void> {
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
  await service.stop();
  await startService(t, { data: service.data });
}
