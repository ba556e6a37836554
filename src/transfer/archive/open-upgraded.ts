import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../../base/build.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { Archive } from './read-archive.ts';
import { inScratch } from './scratch-home.ts';
import { writeArchive } from './write-archive.ts';

/**
 * Opens an archive; one of an older version is restored into a scratch folder first, brought up to date there, and written again. The
 * manifest is that of the new one, but for what it says of the instance and its keys. Whoever checks who made it does so before (`check`).
 */
export async function openUpgraded(
  path: string,
  check: (archive: Archive) => Promise<void> | void,
): Promise<{ readonly archive: Archive; readonly close: () => Promise<void> }> {
  const archive = await Archive.open(path);
  try {
    await check(archive);
  } catch (error) {
    archive.close();
    throw error;
  }
  if (!archive.isOlder) return { archive, close: () => Promise.resolve(archive.close()) };
  const folder = await mkdtemp(join(tmpdir(), 'chancery-upgrade-'));
  const upgraded = join(folder, 'upgraded.chancery');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await writeUpgraded(archive, upgraded);
    const current = await Archive.open(upgraded);
    return {
      archive: current,
      close: async () => {
        current.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  } finally {
    archive.close();
  }
}

async function writeUpgraded(archive: Archive, path: string): Promise<void> {
  const { instance: about, key, created, template: isTemplate = false } = archive.manifest;
  await inScratch(async (scratch) => {
    await scratch.fill(archive, archive.steps);
    const { store } = scratch;
    const nowMs = fromTimestamp(created);
    const source = { about, key, isTemplate, version: build.version, store, nowMs, macOf: () => '' };
    await scratch.withHome((home, id) =>
      home.readAtOneMoment(id, (snapshot) =>
        writeArchive({ ...source, snapshot }, createWriteStream(path, { flags: 'wx', mode: 0o600 })),
      ),
    );
  });
}
