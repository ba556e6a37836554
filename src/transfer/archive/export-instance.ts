import type { Writable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { holdRemovals } from '../../files/file-removals.ts';
import { readRows, unknownInstance } from '../../instances/instance-rows.ts';
import type { Instance } from '../../instances/instance.ts';
import { type MasterKey, readKeyCheck } from '../../secrets/master-key.ts';
import { archiveMac } from '../../secrets/archive-mac.ts';
import { sql } from '../../sql/sql.ts';
import type { DataHome } from '../../storage/data-home.ts';
import { lockKeys } from '../../secrets/locked-keys.ts';
import type { ArchivedKey, Manifest } from './archive-format.ts';
import { type ArchiveSource, writeArchive } from './write-archive.ts';

export interface InstanceExport extends Pick<ArchiveSource, 'version' | 'isTemplate' | 'onProgress'> {
  readonly instance: Instance;
  readonly home: DataHome;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
  /** Opens the secrets in the archive, in place of the master key. */
  readonly passphrase?: string | undefined;
  /** Takes the archive, and is ended. */
  readonly to: Writable;
}

/** How long files are kept that should be removed. It is renewed, so that they are soon removed when this process ends in the middle. */
const holdMs = 5 * 60_000;
const renewMs = 60_000;

/** Writes an archive of an instance as it is now. It may be used meanwhile, but removed files stay until the archive is written. */
export async function exportInstance({
  instance,
  home,
  masterKey,
  clock,
  passphrase,
  to,
  ...how
}: InstanceExport): Promise<Manifest> {
  const { database, files, dueClock, id } = instance;
  const about = await readAbout(home, id);
  const hold = (until: number): Promise<void> => database.write((tx) => holdRemovals(tx, until));
  const keyOf = async (): Promise<ArchivedKey> => {
    if (how.isTemplate === true) return { kind: 'none', sealed: '' };
    if (passphrase !== undefined)
      return { kind: 'passphrase', ...(await lockKeys(instance.sealer.keys, passphrase)) };
    return { kind: 'master', check: (await readKeyCheck(home.control)) ?? '', sealed: about.key };
  };
  // Before the moment that the archive shows: what that names is not removed any more.
  await hold(dueClock.now() + holdMs);
  const renewal = setInterval(() => void hold(dueClock.now() + holdMs).catch(() => undefined), renewMs);
  try {
    const key = await keyOf();
    return await home.readAtOneMoment(id, (snapshot) =>
      writeArchive(
        {
          ...how,
          about: about.instance,
          snapshot,
          key,
          nowMs: clock.now(),
          store: files.store,
          macOf: (text) => archiveMac(masterKey, text),
        },
        to,
      ),
    );
  } finally {
    clearInterval(renewal);
    await hold(0);
  }
}

interface About {
  readonly instance: Manifest['instance'];
  readonly key: string;
}

async function readAbout({ control }: DataHome, instanceId: string): Promise<About> {
  const [row] = await readRows(control, sql`id = ${instanceId}`);
  if (row === undefined) throw unknownInstance(instanceId);
  const { id, shownId, slug, host, created, labels, key } = row;
  return { instance: { id, shownId, slug, host, created, labels }, key };
}
