import { ownerOf } from '../../endpoints/endpoint-conditions.ts';
import { type Endpoint, isStopped } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { sql } from '../../sql/sql.ts';
import type { AlertMails } from '../alert-mails.ts';
import { stopEndpoint } from './change-endpoint.ts';

export const ownerDeletedReason = 'The account that it belongs to was deleted.';

/** Pauses the endpoints of accounts that were deleted, with that reason: they would be told of nothing for ever, and nobody would know why. */
export async function pauseOrphans(instance: WebhookInstance, mails: AlertMails | undefined): Promise<void> {
  const { owned } = await instance.endpoints.byOwner(instance.database);
  const active = owned.filter((endpoint) => !isStopped(endpoint));
  for (const [collectionId, some] of Map.groupBy(active, ({ owner }) => ownerOf(owner).collectionId)) {
    const present = await readPresent(instance, collectionId, some);
    for (const endpoint of some)
      if (!present.has(ownerOf(endpoint.owner).id))
        await stopEndpoint(instance, endpoint, {
          status: 'paused',
          event: '',
          reason: ownerDeletedReason,
          mails,
        });
  }
}

/** Returns the ids of the accounts that exist. */
async function readPresent(
  { database, collections }: Pick<WebhookInstance, 'database' | 'collections'>,
  collectionId: string,
  endpoints: readonly Pick<Endpoint, 'owner'>[],
): Promise<ReadonlySet<string>> {
  const collection = collections.find(collectionId);
  if (collection === undefined) return new Set();
  const { names } = database;
  const ids = endpoints.map(({ owner }) => ownerOf(owner).id);
  const rows = await database.tuples(
    sql`SELECT id FROM ${names.collectionTable(collection.name)} WHERE id${names.anyOf(ids)}`,
  );
  return new Set(rows.map(([id]) => String(id)));
}
