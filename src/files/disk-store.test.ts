import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { DiskStore } from './disk-store.ts';

interface Stage {
  readonly root: string;
  readonly store: DiskStore;
  readonly put: (key: string, content: string) => Promise<void>;
  readonly content: (key: string) => Promise<string | undefined>;
}

function openStage(t: TestContext): Stage {
  const folder = temporaryFolder(t);
  const root = join(folder, 'storage');
  const store = new DiskStore(root);
  return {
    root,
    store,
    put: async (key, content) => {
      const path = join(folder, 'upload');
      await writeFile(path, content);
      await store.put(key, { path, size: content.length, type: 'text/plain' });
    },
    content: async (key) => {
      const found = await store.read(key);
      return found && text(found);
    },
  };
}

async function keysOf(store: DiskStore): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list()) keys.push(key);
  return keys.toSorted();
}

test('a stored file is found, read whole and in part, and listed', async (t) => {
  const { store, put, content } = openStage(t);
  assert.equal(await content('c/r/a.txt'), undefined);
  await put('c/r/a.txt', 'hello');
  await put('c/s/b.txt', 'other');
  assert.equal(await content('c/r/a.txt'), 'hello');
  assert.equal((await store.find('c/r/a.txt'))?.size, 5);
  const part = await store.read('c/r/a.txt', { first: 1, last: 3 });
  assert.equal(part && (await text(part)), 'ell');
  assert.deepEqual(await keysOf(store), ['c/r/a.txt', 'c/s/b.txt']);
});

test('a removed file is gone with what was made of it and with an empty folder, and what is not there is no error', async (t) => {
  const { root, store, put, content } = openStage(t);
  await put('c/r/a.txt', 'hello');
  await put('c/r/b.txt', 'other');
  await put('c/r/thumbs_a.txt/100x100_a.txt', 'small');
  await writeFile(join(root, 'c/r/a.txt.attrs'), '{}');
  assert.deepEqual(await keysOf(store), ['c/r/a.txt', 'c/r/b.txt']);
  await store.remove('c/r/a.txt');
  await store.remove('c/r/a.txt');
  assert.deepEqual(await readdir(join(root, 'c/r')), ['b.txt']);
  assert.equal(await content('c/r/b.txt'), 'other');
  await store.remove('c/r/b.txt');
  assert.deepEqual(await readdir(join(root, 'c')), []);
  await put('c/r/c.txt', 'again');
  await store.removeAll('c');
  await store.removeAll('c');
  assert.deepEqual(await keysOf(store), []);
});

test('a link is no file, nor is what lies behind one, and a key leads nowhere else', async (t) => {
  const { root, store, put, content } = openStage(t);
  await put('c/r/a.txt', 'hello');
  await mkdir(join(root, '../outside'));
  await writeFile(join(root, '../outside/secret'), 'secret');
  await symlink('../../../outside/secret', join(root, 'c/r/link'));
  await symlink('../../outside', join(root, 'c/out'));
  for (const key of ['c/r/link', 'c/out/secret', 'c/r/a.txt/x', 'c/r', 'c']) {
    assert.equal(await content(key), undefined, key);
    assert.equal(await store.find(key), undefined, key);
  }
  assert.deepEqual(await keysOf(store), ['c/r/a.txt']);
  for (const key of ['../outside/secret', 'c/../../outside/secret', '/etc/passwd', 'c//a', 'c\\a', 'c/a\0'])
    await assert.rejects(store.find(key), /a key is made of names/, key);
});
