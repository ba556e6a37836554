import type { Collection } from '../collections/collection.ts';
import { accountCollectionNames } from '../instances/account-collections.ts';
import { sql } from '../sql/sql.ts';
import type { WriteScope } from './record-write.ts';

export interface ErasedAccount {
  readonly collection: Collection;
  readonly id: string;
  /** Only what stands in these collections. */
  readonly only?: readonly (typeof accountCollectionNames)[number][];
}

/** Deletes what accounts have beside their own record, each with the secrets it has. */
export async function eraseAccount(
  { instance, tx }: Pick<WriteScope, 'instance' | 'tx'>,
  { collection, id, only = accountCollectionNames }: ErasedAccount,
): Promise<void> {
  const { names } = tx;
  for (const name of only) {
    const helper = instance.collections.find(name);
    // By these names an instance from before accounts may have something else.
    if (helper?.system !== true) continue;
    const owned = sql`${names.collectionTable(name)} WHERE "collectionRef" = ${collection.id} AND "recordRef" = ${id}`;
    if (name === '_otps')
      await tx.run(
        sql`DELETE FROM ${names.table('$secret')} WHERE ${names.scope} AND collection = ${helper.id} AND record IN (SELECT id FROM ${owned})`,
      );
    await tx.run(sql`DELETE FROM ${owned}`);
  }
}
