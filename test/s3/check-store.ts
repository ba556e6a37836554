import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type BlobStore, thumbsFolder } from '../../src/files/blob-store.ts';

/** More than is sent in one part. */
const largeBytes = 20 * 1024 * 1024;

/** Does with a store all that the service does with one, under keys of its own, and removes them. Fails where an answer is wrong. */
export async function checkStore(store: BlobStore, folder: string): Promise<void> {
  const collection = `check_${Date.now()}`;
  const key = `${collection}/record/a file+ü.txt`;
  const put = async (to: string, content: Uint8Array): Promise<void> => {
    const path = join(folder, 'upload');
    await writeFile(path, content);
    await store.put(to, { path, size: content.length, type: 'text/plain' });
  };
  const read = async (from: string, range?: { first: number; last: number }): Promise<Buffer | undefined> => {
    const found = await store.read(from, range);
    return found && buffer(found);
  };
  try {
    assert.equal(await store.find(key), undefined, 'a file that is not there');
    await put(key, Buffer.from('hello'));
    assert.equal((await store.find(key))?.size, 5, 'the size of a file');
    assert.equal(String(await read(key)), 'hello', 'a file');
    assert.equal(String(await read(key, { first: 1, last: 3 })), 'ell', 'a part of a file');
    const large = Buffer.alloc(largeBytes, 'chancery ');
    await put(`${collection}/record/large.bin`, large);
    assert.ok((await read(`${collection}/record/large.bin`))?.equals(large), 'a file in parts');
    await put(`${thumbsFolder(key)}/100x100_a`, Buffer.from('small'));
    const listed = new Set<string>();
    for await (const one of store.list()) if (one.key.startsWith(collection)) listed.add(one.key);
    assert.deepEqual(listed, new Set([key, `${collection}/record/large.bin`]), 'the list of files');
    await store.remove(key);
    await store.remove(key);
    assert.equal(await store.find(key), undefined, 'a file that was removed');
    assert.equal(await read(`${thumbsFolder(key)}/100x100_a`), undefined, 'its thumb');
  } finally {
    await store.removeAll(collection);
  }
  assert.equal(await store.find(`${collection}/record/large.bin`), undefined, 'a folder that was removed');
}
