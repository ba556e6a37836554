import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openSqliteFile } from '../../test/support/engines.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { systemClock } from '../base/clock.ts';
import { InstanceFiles } from './instance-files.ts';
import { type UploadedFile, Uploads, uploadLimits } from './uploads.ts';

async function openUploads(
  t: TestContext,
  isDigested = false,
): Promise<{ readonly uploads: Uploads; readonly folder: string }> {
  const files = new InstanceFiles({ folder: temporaryFolder(t) });
  const database = await openSqliteFile(t);
  const uploads = new Uploads(
    { id: 'i', database, files, dueClock: systemClock, quotas: () => ({}) },
    { isDigested },
  );
  t.after(() => uploads.discard());
  return { uploads, folder: files.uploadFolder };
}

async function* pieces(...contents: readonly (string | Buffer)[]): AsyncIterable<Buffer> {
  for (const content of contents) yield Buffer.from(content);
}

test('an upload lies in a file that only the service may read, until it is discarded', async (t) => {
  const { uploads, folder } = await openUploads(t);
  const content = pieces('%PDF-1.7 ', 'and more');
  const file = await uploads.receive({ originalName: 'My Paper', content, bytesMax: 100 });
  assert.match(file.name, /^my_paper_[a-z0-9]{10}\.pdf$/);
  assert.deepEqual([file.size, file.type, file.isComplete], [17, 'application/pdf', true]);
  const [name = ''] = await readdir(folder);
  assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  await uploads.discard();
  assert.deepEqual(await readdir(folder), []);
});

test('bytes beyond the largest size are counted and not stored', async (t) => {
  const { uploads } = await openUploads(t);
  const block = Buffer.alloc(100_000);
  const blocks = Array.from({ length: 50 }, () => block);
  const file = await uploads.receive({
    originalName: 'large.bin',
    content: pieces(...blocks),
    bytesMax: 250_000,
  });
  assert.deepEqual([file.size, file.isComplete], [5_000_000, false]);
  assert.ok((await stat(file.path)).size <= 250_000);
});

test('two files differ by their bytes or their names, and equal ones are equal', async (t) => {
  const { uploads } = await openUploads(t, true);
  const receive = (originalName: string, ...content: readonly string[]): Promise<UploadedFile> =>
    uploads.receive({ originalName, content: pieces(...content), bytesMax: 100 });
  const texts = [
    await receive('a.txt', 'same'),
    await receive('a.txt', 'sa', 'me'),
    await receive('a.txt', 'other'),
    await receive('b.txt', 'same'),
  ].map((file) => JSON.stringify(file));
  assert.equal(texts[0], texts[1]);
  assert.equal(new Set(texts).size, 3);
});

test('no more files are written at the same time than the process can have open', async (t) => {
  const { uploads } = await openUploads(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let waiting = 0;
  const begun = Promise.withResolvers<void>();
  const block = Buffer.alloc(uploadLimits.blockBytes);
  async function* slow(): AsyncIterable<Buffer> {
    yield block;
    waiting += 1;
    if (waiting === uploadLimits.writingMax) begun.resolve();
    await released;
  }
  const receive = (content: AsyncIterable<Buffer>): Promise<UploadedFile> =>
    uploads.receive({ originalName: 'a.bin', content, bytesMax: block.length });
  const taken = Array.from({ length: uploadLimits.writingMax }, () => receive(slow()));
  await begun.promise;
  await assert.rejects(receive(pieces(block)), { code: 'unavailable' });
  release();
  await Promise.all(taken);
  assert.equal((await receive(pieces(block))).isComplete, true);
});
