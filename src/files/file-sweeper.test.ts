import assert from 'node:assert/strict';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { describeEngines, type OpenDatabase, openSqliteFile } from '../../test/support/engines.ts';
import { eventually } from '../../test/support/eventually.ts';
import { MovableClock } from '../../test/support/movable-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import type { Logger } from '../base/logger.ts';
import { migrate } from '../storage/migrate.ts';
import { instanceMigrations } from '../storage/migrations/instance-migrations.ts';
import { postgresMigrations } from '../storage/migrations/postgres-migrations.ts';
import type { Database } from '../storage/database.ts';
import type { BlobStore } from './blob-store.ts';
import { claimUploads, noteRemovals, readDueInstances, removalTimes } from './file-removals.ts';
import { FileSweeper, readFilesDue } from './file-sweeper.ts';
import { InstanceFiles } from './instance-files.ts';

interface Stage {
  readonly database: Database;
  readonly files: InstanceFiles;
  readonly clock: MovableClock;
  readonly sweeper: FileSweeper;
  readonly warnings: string[];
  readonly note: (keys: readonly string[], due: number) => Promise<void>;
  readonly put: (key: string) => Promise<void>;
  readonly stored: () => Promise<readonly string[]>;
}

async function openStage(
  t: TestContext,
  open: OpenDatabase,
  wrapStore?: (store: BlobStore) => BlobStore,
): Promise<Stage> {
  const database = await open(t);
  await migrate(database, database.engine === 'sqlite' ? instanceMigrations : postgresMigrations);
  const folder = temporaryFolder(t);
  const files = new InstanceFiles({ folder, wrapStore });
  const clock = new MovableClock(Date.now());
  const warnings: string[] = [];
  const silent = (): void => undefined;
  const warn = (message: string): void => void warnings.push(message);
  const logger: Logger = { debug: silent, info: silent, warn, error: silent };
  const sweeper = new FileSweeper({
    instances: () => [],
    borrow: () =>
      Promise.resolve({
        instance: { id: 'i', database, files, dueClock: clock, quotas: () => ({}) },
        release: silent,
      }),
    uploadFolderOf: () => files.uploadFolder,
    findDue: database.engine === 'sqlite' ? undefined : (now) => readDueInstances(database, now),
    clock,
    logger,
  });
  t.after(() => sweeper.stop());
  return {
    database,
    files,
    clock,
    sweeper,
    warnings,
    note: (keys, due) => database.write((tx) => noteRemovals(tx, keys, due)),
    put: async (key) => {
      const path = join(folder, 'upload');
      await writeFile(path, key);
      await files.store.put(key, { path, size: key.length, type: 'text/plain' });
    },
    stored: async () => {
      const keys: string[] = [];
      for await (const { key } of files.store.list()) keys.push(key);
      return keys.toSorted();
    },
  };
}

describeEngines('the sweeper of files', (open) => {
  test('a due removal runs at once, and a later one when it is due', async (t) => {
    const { clock, sweeper, note, put, stored } = await openStage(t, open);
    for (const key of ['c/r/a', 'c/r/b', 'c/r/c']) await put(key);
    await note(['c/r/a', 'c/r/gone', '../odd'], clock.now());
    await note(['c/r/b'], clock.now() + 1_000);
    sweeper.note('one', clock.now());
    assert.deepEqual(await stored(), ['c/r/a', 'c/r/b', 'c/r/c'], 'it has not started yet');
    sweeper.start();
    sweeper.note('one', clock.now());
    await eventually('one is removed', async () => (await stored()).length === 2);
    await sweeper.sweep();
    assert.deepEqual(await stored(), ['c/r/b', 'c/r/c']);
    clock.move(1_000);
    await sweeper.sweep();
    assert.deepEqual(await stored(), ['c/r/c']);
  });

  test('removals of another process and later ones are found', async (t) => {
    const { database, clock, sweeper, note, put, stored } = await openStage(t, open);
    await put('c/r/a');
    await note(['c/r/a'], clock.now());
    sweeper.start();
    if (database.engine === 'sqlite') sweeper.note('one', 0);
    await sweeper.sweep();
    assert.deepEqual(await stored(), []);
    await put('c/r/b');
    await note(['c/r/b'], clock.now() + 1_000);
    sweeper.note('one', clock.now() + 1_000);
    await sweeper.sweep();
    assert.deepEqual(await stored(), ['c/r/b']);
    clock.move(1_000);
    await sweeper.sweep();
    assert.deepEqual(await stored(), []);
  });

  test('removes thousands of files', async (t) => {
    const removed: string[] = [];
    const { clock, sweeper, note } = await openStage(t, open, (store) => ({
      put: (key, source) => store.put(key, source),
      find: (key) => store.find(key),
      read: (key, range) => store.read(key, range),
      removeAll: (prefix) => store.removeAll(prefix),
      list: () => store.list(),
      remove: async (key) => void removed.push(key),
    }));
    const keys = Array.from({ length: 2_000 }, (_, n) => `c/r/${n}`);
    await note(keys, clock.now());
    sweeper.start();
    sweeper.note('one', 0);
    await sweeper.sweep();
    assert.deepEqual(removed.toSorted(), keys.toSorted());
  });

  test('tries again to remove a file that it could not, and removes the others meanwhile', async (t) => {
    let isBroken = true;
    const { clock, sweeper, warnings, note, put, stored } = await openStage(t, open, (store) => ({
      put: (key, source) => store.put(key, source),
      find: (key) => store.find(key),
      read: (key, range) => store.read(key, range),
      removeAll: (prefix) => store.removeAll(prefix),
      list: () => store.list(),
      remove: async (key) => {
        if (isBroken && key === 'c/r/a') throw new Error('EIO');
        await store.remove(key);
      },
    }));
    for (const key of ['c/r/a', 'c/r/b']) await put(key);
    await note(['c/r/a', 'c/r/b'], clock.now());
    sweeper.start();
    sweeper.note('one', 0);
    await sweeper.sweep();
    assert.deepEqual(await stored(), ['c/r/a']);
    assert.deepEqual(warnings, ['A file could not be removed; retrying.']);
    isBroken = false;
    await sweeper.sweep();
    assert.deepEqual(await stored(), ['c/r/a'], 'not at once');
    clock.move(removalTimes.marginMs);
    await sweeper.sweep();
    assert.deepEqual(await stored(), []);
  });

  test('leaves an upload that a record has claimed, and nothing claims one that may be removed', async (t) => {
    const { database, clock, sweeper, note, put, stored } = await openStage(t, open);
    for (const key of ['c/r/a', 'c/r/b', 'c/r/c']) await put(key);
    await note(['c/r/a', 'c/r/b'], clock.now() + removalTimes.unclaimedMs);
    const claim = (keys: readonly string[]): Promise<void> =>
      database.write((tx) => claimUploads(tx, keys, clock.now()));
    await claim(['c/r/a']);
    await assert.rejects(claim(['c/r/a']), { code: 'unavailable' });
    await assert.rejects(claim(['c/r/b', 'c/r/c']), { code: 'unavailable' });
    clock.move(removalTimes.unclaimedMs - removalTimes.marginMs);
    await assert.rejects(claim(['c/r/b']), { code: 'unavailable' });
    clock.move(removalTimes.marginMs);
    sweeper.start();
    sweeper.note('one', 0);
    await sweeper.sweep();
    assert.deepEqual(await stored(), ['c/r/a', 'c/r/c']);
  });
});

test('files of a process that died are removed from the folder for uploads when they are old', async (t) => {
  const { database, files, clock, sweeper } = await openStage(t, openSqliteFile);
  await mkdir(files.uploadFolder, { recursive: true });
  for (const [name, ageMs] of [
    ['old', 61 * 60_000],
    ['young', 30 * 60_000],
  ] as const) {
    const path = join(files.uploadFolder, name);
    await writeFile(path, 'half');
    const time = (clock.now() - ageMs) / 1_000;
    await utimes(path, time, time);
  }
  assert.equal(await readFilesDue(database, files.uploadFolder), clock.now() - 16 * 60_000);
  sweeper.start();
  sweeper.note('one', 0);
  await sweeper.sweep();
  assert.deepEqual(await readdir(files.uploadFolder), ['young']);
  assert.equal(await readFilesDue(database, files.uploadFolder), clock.now() + 15 * 60_000);
  clock.move(31 * 60_000);
  await sweeper.sweep();
  assert.deepEqual(await readdir(files.uploadFolder), []);
});
