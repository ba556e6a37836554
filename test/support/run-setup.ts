/** For `node --test --test-global-setup`: makes what all processes of a run share, a folder for their files and a PostgreSQL server. */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { startTestPostgres, type TestPostgres } from './postgres.ts';

/** Linux keeps this folder in memory, where a sync costs nothing. */
const memoryFolder = '/dev/shm';
/** Required free space there, and free memory: three times what a run uses at most. */
const freeBytesMin = 3 * 1024 ** 3;

let place: string | undefined;
let server: TestPostgres | undefined;

export async function globalSetup(): Promise<void> {
  // Only for tests that need no durability: tests of crashes have servers of their own, on a disk.
  if (process.env['CHANCERY_TEST_PLACE'] === undefined && hasRoom()) {
    place = mkdtempSync(join(memoryFolder, 'chancery-tests-'));
    // Removed however the run ends, because leftovers would stay in memory.
    process.once('exit', removePlace);
    // The server runs as another user, who must be able to reach its own folder.
    chmodSync(place, 0o711);
    process.env['CHANCERY_TEST_PLACE'] = place;
  }
  if (process.env['CHANCERY_TEST_POSTGRES'] !== undefined) return;
  server = await startTestPostgres({
    ...(place !== undefined && { place }),
    settings: ['max_connections=200'],
  });
  process.env['CHANCERY_TEST_POSTGRES'] = server.url;
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
  removePlace();
}

function removePlace(): void {
  // Retries, because processes that have not ended yet may still be writing.
  if (place !== undefined) rmSync(place, { recursive: true, force: true, maxRetries: 5 });
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return Math.min(bavail * bsize, freemem()) >= freeBytesMin;
  } catch {
    return false;
  }
}
