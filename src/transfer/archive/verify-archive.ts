import { Writable } from 'node:stream';
import { type Manifest, type Part, refusedArchive } from './archive-format.ts';
import { Archive } from './read-archive.ts';
import { inScratch } from './scratch-home.ts';
import { writeArchive } from './write-archive.ts';

/** Restoring changes these by itself: the version of the definitions is in one. */
const volatile: ReadonlySet<string> = new Set(['$instance_setting']);

/**
 * Restores an archive into a scratch folder, writes it again from there, and compares the digests of all parts. Of an older version, whose tables are
 * others, it only checks that it can be restored. Throws bad_request where they differ, or the archive is damaged.
 */
export async function verifyArchive(path: string): Promise<Manifest> {
  const archive = await Archive.open(path);
  try {
    const before = new Map<string, string>();
    const after = new Map<string, string>();
    const { about, key, version } = { about: archive.manifest.instance, ...archive.manifest };
    await inScratch(async (scratch) => {
      await scratch.fill(archive, archive.steps, noteIn(before));
      const { store } = scratch;
      const source = { about, key, version, store, nowMs: 0, macOf: () => '', onPart: noteIn(after) };
      await scratch.withHome((home, id) =>
        home.readAtOneMoment(id, (snapshot) => writeArchive({ ...source, snapshot }, nowhere())),
      );
    });
    if (!archive.isOlder) requireEqual(before, after);
    return archive.manifest;
  } finally {
    archive.close();
  }
}

function requireEqual(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): void {
  for (const [name, digest] of before)
    if (after.get(name) !== digest)
      throw refusedArchive(`${name} is another one once it is restored: report this as a fault.`);
  if (before.size !== after.size) throw refusedArchive('a restored instance has other parts.');
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
