import { setTimeout as sleep } from 'node:timers/promises';
import type { Timestamp } from '../../base/timestamp.ts';
import { markReplaced, unmarkReplaced } from '../../instances/replacement-mark.ts';
import type { InstanceDirectory } from '../../instances/instance-directory.ts';
import { type DataHome, noMemory } from '../../storage/data-home.ts';
import type { Database } from '../../storage/database.ts';
import { takeOver } from './take-over.ts';

/** Where both instances are. */
export interface InstanceDirectoryHome {
  readonly home: DataHome;
  readonly directory: InstanceDirectory;
}

export interface PlaceTaking {
  /** The id of the instance that is replaced. */
  readonly replaced: string;
  /** That of the backup, filled. */
  readonly database: Database;
  readonly now: Timestamp;
}

/**
 * How long requests and webhooks that are on their way have to end. A webhook that takes longer may be sent again, under the same id, by the
 * backup.
 */
const settleMs = 2_000;

/**
 * Ends what the replaced instance does, and takes over what it has delivered. From then on nothing is written to it, and every request to it is told
 * to come again, until the directory shows the backup in its place.
 */
export async function takePlace(
  { home, directory }: InstanceDirectoryHome,
  { replaced, database, now }: PlaceTaking,
): Promise<void> {
  await directory.beginReplacing(replaced);
  await sleep(settleMs);
  const old = await home.openInstance(replaced, noMemory);
  try {
    await markReplaced(old);
  } finally {
    await old.stop();
  }
  await home.readAtOneMoment(replaced, ({ data }) => takeOver(data, { database, now }));
}

/** Serves an instance again that was not replaced after all. Can be repeated after an interruption. */
export async function leavePlace(
  { home, directory }: InstanceDirectoryHome,
  replaced: string,
): Promise<void> {
  await directory.refresh();
  if (directory.find(replaced)?.state !== 'replacing') return;
  const old = await home.openInstance(replaced, noMemory);
  try {
    await unmarkReplaced(old);
  } finally {
    await old.stop();
  }
  await directory.endReplacing(replaced);
}
