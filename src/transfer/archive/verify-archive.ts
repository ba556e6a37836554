import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { newId } from '../../base/ids.ts';
import { DiskStore } from '../../files/disk-store.ts';
import { noMemory } from '../../storage/data-home.ts';
import { openSqliteHome, prepareDirectory } from '../../storage/sqlite/home.ts';
import { type Manifest, type Part, refusedArchive } from './archive-format.ts';
import { fillInstance } from './fill-instance.ts';
import { Archive } from './read-archive.ts';
import { writeArchive } from './write-archive.ts';

/** Restoring changes these by itself: the version of the definitions is in one. */
const volatile: ReadonlySet<string> = new Set(['$instance_setting']);

/**
 * Restores an archive into a scratch folder, writes it again from there, and compares the digests of all parts. Throws bad_request where they
 * differ, or the archive is damaged.
 */
export async function verifyArchive(path: string): Promise<Manifest> {
  const archive = await Archive.open(path);
  const folder = await mkdtemp(join(tmpdir(), 'chancery-verify-'));
  try {
    const before = new Map<string, string>();
    const after = new Map<string, string>();
    await restoreInto(folder, archive, { before, after });
    for (const [name, digest] of before)
      if (after.get(name) !== digest)
        throw refusedArchive(`${name} is another one once it is restored: report this as a fault.`);
    if (before.size !== after.size) throw refusedArchive('a restored instance has other parts.');
    return archive.manifest;
  } finally {
    archive.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Digests {
  readonly before: Map<string, string>;
  readonly after: Map<string, string>;
}

async function restoreInto(folder: string, archive: Archive, { before, after }: Digests): Promise<void> {
  await prepareDirectory(folder);
  const home = await openSqliteHome(folder, {
    queryTimeoutMs: 60_000,
    upgradeCopiesMax: 0,
    onLoss: () => undefined,
    onNotice: () => undefined,
  });
  const id = newId();
  const store = new DiskStore(join(folder, 'files'));
  try {
    await home.makeInstance(id);
    const [database, logs] = [await home.openInstance(id, noMemory), await home.openLogs(id)];
    try {
      await fillInstance(archive, {
        database,
        logs,
        openStore: () => Promise.resolve(store),
        uploadFolder: join(folder, 'uploads'),
        onPart: noteIn(before),
      });
    } finally {
      await logs.stop();
      await database.stop();
    }
    const { manifest } = archive;
    const { instance: about, key, version } = manifest;
    const source = { about, key, version, store, nowMs: 0, macOf: () => '', onPart: noteIn(after) };
    await home.readAtOneMoment(id, (snapshot) => writeArchive({ ...source, snapshot }, nowhere()));
  } finally {
    await home.stop();
  }
}

function noteIn(digests: Map<string, string>): (part: Part) => void {
  return (part) => {
    // An instance without requests has no log of them yet, and the scratch one an empty one.
    if (part.kind !== 'file' && (volatile.has(part.table) || part.rows === 0)) return;
    digests.set(part.name, part.sha256);
  };
}

function nowhere(): Writable {
  return new Writable({ write: (_piece, _encoding, done) => done() });
}
