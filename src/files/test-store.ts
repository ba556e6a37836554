import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../base/ids.ts';
import { readBytes } from './blob-store.ts';
import type { InstanceFiles } from './instance-files.ts';
import { S3Failure } from './s3-client.ts';
import type { S3Settings } from '../settings/settings.ts';

/** Stores a small file in S3, reads it and removes it. Returns the problem as a sentence; undefined where there is none. */
export async function testStore(files: InstanceFiles, settings: S3Settings): Promise<string | undefined> {
  const content = `A test of ${newId()}.`;
  const key = `chancery_test/${newId()}/test.txt`;
  const path = join(files.uploadFolder, newId());
  await mkdir(files.uploadFolder, { recursive: true, mode: 0o700 });
  await writeFile(path, content);
  const store = files.openS3(settings);
  try {
    await store.put(key, { path, size: content.length, type: 'text/plain' });
    const read = await readBytes(store, key);
    await store.remove(key);
    return read?.toString() === content
      ? undefined
      : 'The file that was read differs from the one that was stored.';
  } catch (error) {
    if (error instanceof S3Failure) return error.reason;
    throw error;
  } finally {
    await rm(path, { force: true });
  }
}
