import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import sharp from 'sharp';
import { logInto } from '../../test/support/log-into.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { systemClock } from '../base/clock.ts';
import type { BlobStore } from './blob-store.ts';
import { InstanceFiles } from './instance-files.ts';
import { ThumbMaker } from './thumb-maker.ts';

const key = 'c/r/a.png';
const thumb = 'c/r/thumbs_a.png/100x100_a.png';

interface Stage {
  readonly files: InstanceFiles;
  readonly make: () => Promise<boolean>;
  readonly log: readonly string[];
}

/** An image, in a store that `wrap` may change. */
async function startStage(t: TestContext, wrap: (store: BlobStore) => Partial<BlobStore>): Promise<Stage> {
  const folder = temporaryFolder(t);
  const path = join(folder, 'image');
  const create = { width: 200, height: 200, channels: 3, background: '#f00' } as const;
  const image = await sharp({ create }).png().toBuffer();
  await writeFile(path, image);
  const wrapStore = (store: BlobStore): BlobStore => {
    const bound: BlobStore = {
      put: (key, source) => store.put(key, source),
      find: (key) => store.find(key),
      read: (key, range) => store.read(key, range),
      remove: (key) => store.remove(key),
      removeAll: (folder) => store.removeAll(folder),
      list: () => store.list(),
    };
    return { ...bound, ...wrap(store) };
  };
  const files = new InstanceFiles({ folder, wrapStore });
  await files.disk.put(key, { path, size: image.length, type: 'image/png' });
  const log: string[] = [];
  const port = { isInstalled: () => true, load: async () => sharp };
  const maker = new ThumbMaker({ clock: systemClock, logger: logInto(log), sharp: port });
  return {
    files,
    log,
    make: () => maker.make({ share: { instance: 'i', address: '' }, files, key, size: '100x100' }),
  };
}

test('a thumb of an image that is removed while it is made does not stay', async (t) => {
  // The image goes with all its thumbs right before this one comes.
  const { files, make } = await startStage(t, (store) => ({
    put: async (to, source) => {
      if (to === thumb) await store.remove(key);
      await store.put(to, source);
    },
  }));
  assert.equal(await make(), false);
  assert.equal(await files.disk.find(thumb), undefined);
});

test('a thumb that cannot be stored is logged, and the image is there as before', async (t) => {
  const { files, make, log } = await startStage(t, (store) => ({
    put: async (to, source) => {
      if (to === thumb) throw new Error('The disk is full.');
      await store.put(to, source);
    },
  }));
  assert.equal(await make(), false);
  assert.notEqual(await files.disk.find(key), undefined);
  assert.equal(log.length, 1);
});
