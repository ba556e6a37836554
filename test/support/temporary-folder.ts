import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { atEnd } from './at-end.ts';

/** The folder for files of tests that need no real disk: in memory, if the run has found room there. */
export const temporaryPlace = process.env['CHANCERY_TEST_PLACE'] ?? tmpdir();

/** Makes an empty folder, removed when the test ends. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(temporaryPlace, 'chancery-test-'));
  // Retries, because a process that has not ended yet may still be writing.
  atEnd(t, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
