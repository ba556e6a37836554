import type { Collection } from '../../collections/collection.ts';
import { companionNames, type CompanionName } from '../../instances/companion-collections.ts';
import { sql } from '../../sql/sql.ts';
import type { WriteScope } from '../record-write.ts';

export interface ErasedAccount {
  readonly collection: Collection;
  /** Absent where all of the collection go. */
  readonly id?: string;
  /** Only what stands in these companions. */
  readonly only?: readonly CompanionName[];
}

/** Deletes what accounts have beside their own record, each with the secrets it has. */
export async function eraseAccount(
  { instance, tx }: Pick<WriteScope, 'instance' | 'tx'>,
  { collection, id, only = companionNames }: ErasedAccount,
): Promise<void> {
  const { names } = tx;
  for (const name of only) {
    const companion = instance.collections.find(name);
    // By these names an instance from before accounts may have something else.
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
