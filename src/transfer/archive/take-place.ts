import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../base/errors.ts';
import type { Timestamp } from '../../base/timestamp.ts';
import type { InstanceDirectoryHome } from '../../instances/leave-place.ts';
import { markReplaced, unmarkReplaced } from '../../instances/replacement-mark.ts';
import { noMemory } from '../../storage/data-home.ts';
import type { Database, Transaction } from '../../storage/database.ts';
import { takeOver } from './take-over.ts';

export interface PlaceTaking {
  /** The id of the instance that is replaced. */
  readonly replaced: string;
  /** That of the backup, filled. */
  readonly database: Database;
  readonly now: Timestamp;
  /** Run in the transaction that begins it; where it throws, nothing is done. */
  readonly alongside?: ((tx: Transaction) => Promise<void>) | undefined;
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
  { replaced, database, now, alongside }: PlaceTaking,
): Promise<void> {
  await directory.beginReplacing(replaced, alongside);
  await sleep(settleMs);
  const old = await home.openInstance(replaced, noMemory);
  try {
    await markReplaced(old);
    // A process that stood still for long may have been given up meanwhile.
    await directory.refresh();
    if (directory.find(replaced)?.state !== 'replacing') {
      await unmarkReplaced(old);
      throw new AppError('conflict', 'The restore took too long, and was given up.');
    }
  } finally {
    await old.stop();
  }
  await home.readAtOneMoment(replaced, ({ data }) => takeOver(data, { database, now }));
}
