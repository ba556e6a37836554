import type { Writable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { holdRemovals } from '../../files/file-removals.ts';
import type { InstanceEntry } from '../../instances/instance-directory.ts';
import type { Instance } from '../../instances/instance.ts';
import { readKeyCheck } from '../../secrets/master-key.ts';
import type { DataHome } from '../../storage/data-home.ts';
import { lockKeys } from '../../secrets/locked-keys.ts';
import type { ArchivedKey, Manifest } from './archive-format.ts';
import { type ArchiveSource, writeArchive } from './write-archive.ts';

export interface InstanceExport extends Pick<ArchiveSource, 'entry' | 'version' | 'onProgress'> {
  readonly instance: Instance;
  readonly entry: InstanceEntry;
  readonly home: DataHome;
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
  clock,
  passphrase,
  to,
  ...about
}: InstanceExport): Promise<Manifest> {
  const { database, files, dueClock, id } = instance;
  const hold = (until: number): Promise<void> => database.write((tx) => holdRemovals(tx, until));
  // Before the moment that the archive shows: what that names is not removed any more.
  await hold(dueClock.now() + holdMs);
  const renewal = setInterval(() => void hold(dueClock.now() + holdMs).catch(() => undefined), renewMs);
  try {
    const key: ArchivedKey =
      passphrase === undefined
        ? { kind: 'master', check: (await readKeyCheck(home.control)) ?? '', sealed: about.entry.key }
        : { kind: 'passphrase', ...(await lockKeys(instance.sealer.keys, passphrase)) };
    return await home.readAtOneMoment(id, (snapshot) =>
      writeArchive({ ...about, snapshot, key, nowMs: clock.now(), store: files.store }, to),
    );
  } finally {
    clearInterval(renewal);
    await hold(0);
  }
}
