import { tokenKinds } from '../../src/collections/collection.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { writeTokenSecrets } from '../../src/instances/token-secrets.ts';

/** Renews the token secrets of an instance whose id was changed: it cannot open those that were sealed under the old id. */
export async function renewTokenSecrets({ database, collections, sealer }: Instance): Promise<void> {
  const secrets = new Map(tokenKinds.map((kind) => [kind, '']));
  await database.write(async (tx) => {
    for (const { id, auth } of collections.all())
      if (auth !== undefined) await writeTokenSecrets(tx, sealer, { collection: id, secrets });
  });
}
