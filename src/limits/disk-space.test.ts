import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type DiskPart, DiskSpace, type SpaceReader } from './disk-space.ts';

const totalBytes = 1_000;

test('a disk is low when less is free than is reserved, and well again when a quarter more is', async (t) => {
  let freeBytes = 100;
  const folder = temporaryFolder(t);
  const space = new DiskSpace({
    data: folder,
    files: join(folder, 'instances'),
    reserve: { percent: 100, bytesMax: 100 },
    readSpace: () => Promise.resolve({ totalBytes, freeBytes }),
  });
  const look = async (free: number): Promise<readonly unknown[]> => {
    freeBytes = free;
    const changed = await space.look();
    return [space.states.map(({ isLow }) => isLow), changed.map(({ isLow }) => isLow)];
  };
  assert.deepEqual(await look(100), [[false], []]);
  assert.deepEqual(await look(99), [[true], [true]]);
  assert.deepEqual(await look(124), [[true], []]);
  assert.deepEqual(await look(125), [[false], [false]]);
  assert.deepEqual(await look(100), [[false], []]);
});

test('what is reserved is a part of the disk, and at most so much', async (t) => {
  const folder = temporaryFolder(t);
  const reserved = async (reserve: DiskPart): Promise<number | undefined> => {
    const readSpace = (): ReturnType<SpaceReader> => Promise.resolve({ totalBytes, freeBytes: 0 });
    const space = new DiskSpace({ data: folder, files: folder, reserve, readSpace });
    await space.look();
    return space.states[0]?.reserveBytes;
  };
  assert.equal(await reserved({ percent: 5, bytesMax: 100 }), 50);
  assert.equal(await reserved({ percent: 5, bytesMax: 20 }), 20);
  assert.equal(await reserved({ percent: 100, bytesMax: 0 }), 0);
});

test('data and files on one disk are one, and of a database only the files are on a disk of the service', async (t) => {
  const folder = temporaryFolder(t);
  const disksOf = async (data: string | undefined, files: string): Promise<readonly unknown[]> => {
    const space = new DiskSpace({ data, files, reserve: { percent: 0, bytesMax: 0 } });
    await space.look();
    for (const { totalBytes: total, freeBytes, isLow } of space.states)
      assert.ok(total >= freeBytes && !isLow);
    return space.states.map(({ folder: one, holds }) => [one, holds]);
  };
  const missing = join(folder, 'not', 'there');
  assert.deepEqual(await disksOf(folder, missing), [[folder, 'all']]);
  assert.deepEqual(await disksOf(undefined, missing), [[missing, 'files']]);
  assert.deepEqual(await disksOf(folder, '/proc'), [
    [folder, 'data'],
    ['/proc', 'files'],
  ]);
});
