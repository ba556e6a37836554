import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DiskStore } from '../../files/disk-store.ts';
import { type DataHome, noMemory } from '../../storage/data-home.ts';
import type { Migration } from '../../storage/migrate.ts';
import { openSqliteHome, prepareDirectory } from '../../storage/sqlite/home.ts';
import type { Archive } from './read-archive.ts';
import { type EmptyInstance, fillInstance } from './fill-instance.ts';

/** A folder for an instance that nobody is to use, and its files. */
export interface Scratch {
  readonly store: DiskStore;
  /** Fills the instance with an archive, in tables that have these steps. */
  fill(archive: Archive, steps: readonly Migration[], onPart?: EmptyInstance['onPart']): Promise<void>;
  /** Opens the instance in tables of this version. */
  withHome<Result>(work: (home: DataHome, instanceId: string) => Promise<Result>): Promise<Result>;
}

const id = 'scratch';

/** Runs work on a scratch folder, which is removed afterwards. */
export async function inScratch<Result>(work: (scratch: Scratch) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-scratch-'));
  try {
    await prepareDirectory(folder);
    return await work(scratchIn(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function scratchIn(folder: string): Scratch {
  const store = new DiskStore(join(folder, 'files'));
  return {
    store,
    fill: async (archive, steps, onPart) => {
      const home = await openScratch(folder, steps);
      try {
        await home.makeInstance(id);
        const [database, logs] = [await home.openInstance(id, noMemory), await home.openLogs(id)];
        const openStore = (): Promise<DiskStore> => Promise.resolve(store);
        const uploadFolder = join(folder, 'uploads');
        const target = { database, logs, openStore, uploadFolder, ...(onPart && { onPart }) };
        try {
          await fillInstance(archive, target);
        } finally {
          await logs.stop();
          await database.stop();
        }
      } finally {
        await home.stop();
      }
    },
    withHome: async (work) => {
      const home = await openScratch(folder);
      try {
        // Opening it brings its tables up to date.
        await (await home.openInstance(id, noMemory)).stop();
        return await work(home, id);
      } finally {
        await home.stop();
      }
    },
  };
}

function openScratch(folder: string, instanceSteps?: readonly Migration[]): Promise<DataHome> {
  return openSqliteHome(folder, {
    queryTimeoutMs: 60_000,
    upgradeCopiesMax: 0,
    onLoss: () => undefined,
    onNotice: () => undefined,
    ...(instanceSteps && { instanceSteps }),
  });
}
