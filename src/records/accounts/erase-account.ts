import type { Collection } from '../../collections/collection.ts';
import { companionNames, type CompanionName } from '../../instances/companion-collections.ts';
import { sql } from '../../sql/sql.ts';
import type { WriteScope } from '../record-write.ts';

export interface ErasedAccount {
  readonly collection: Collection;
  /** The account's id; left out, all accounts of the collection. */
  readonly id?: string;
  /** The companion collections to delete from; all of them when left out. */
  readonly only?: readonly CompanionName[];
}

/** Deletes an account's records in the companion collections, each with its secrets. */
export async function eraseAccount(
  { instance, tx }: Pick<WriteScope, 'instance' | 'tx'>,
  { collection, id, only = companionNames }: ErasedAccount,
): Promise<void> {
  const { names } = tx;
  for (const name of only) {
    const companion = instance.collections.find(name);
    // An instance from before accounts existed may have another collection of this name.
    if (companion?.system !== true) continue;
    const whose = id === undefined ? sql`` : sql` AND "recordRef" = ${id}`;
    const owned = sql`${names.collectionTable(name)} WHERE "collectionRef" = ${collection.id}${whose}`;
    if (name === '_otps')
      await tx.run(
        sql`DELETE FROM ${names.table('$secret')} WHERE ${names.scope} AND collection = ${companion.id} AND record IN (SELECT id FROM ${owned})`,
      );
    await tx.run(sql`DELETE FROM ${owned}`);
  }
}
