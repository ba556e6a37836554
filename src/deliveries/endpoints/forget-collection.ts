import type { Collections } from '../../collections/collection-store.ts';
import type { Collection } from '../../collections/collection.ts';
import type { Transaction } from '../../storage/database.ts';
import { endBackfillsOf } from '../replays/backfills.ts';
import { filterProblem } from '../../endpoints/endpoint-conditions.ts';
import { isStopped } from '../../endpoints/endpoint.ts';
import { warnOfEndpoint } from '../../endpoints/endpoint-warnings.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { markReconcile } from '../reconcile-marks.ts';
import { timeOfChange } from './change-endpoint.ts';

/**
 * Removes a collection that is being deleted from endpoints. An endpoint that loses its last one is paused: an empty list would mean all
 * collections, to which it never subscribed.
 */
export async function forgetCollection(
  tx: Transaction,
  instance: Pick<WebhookInstance, 'id' | 'endpoints' | 'clock' | 'logger'>,
  collection: Collection,
): Promise<void> {
  const { endpoints, clock } = instance;
  await endBackfillsOf(tx, collection.id, clock.now());
  for (const endpoint of await endpoints.all(tx)) {
    if (!endpoint.collections.includes(collection.id)) continue;
    const rest = endpoint.collections.filter((id) => id !== collection.id);
    const statusReason = `The last of its collections, ${collection.name}, was deleted.`;
    const isLast = rest.length === 0;
    await endpoints.update(tx, {
      ...endpoint,
      ...(isLast ? { status: 'paused', statusReason } : { collections: rest }),
      updated: timeOfChange(endpoint, clock),
    });
    if (!isLast || isStopped(endpoint)) continue;
    tx.afterCommit(() => warnOfEndpoint(instance, endpoint, { kind: 'paused', cause: statusReason }));
  }
}

/**
 * Has the endpoints with transitions reconciled after a change of the definitions: a rule, or a field that a rule or a filter names, may be
 * another. They count as changed, so that the node that sends to them notices.
 */
export async function reconcileAll(
  tx: Transaction,
  { endpoints, clock, dueClock }: Pick<WebhookInstance, 'endpoints' | 'clock' | 'dueClock'>,
): Promise<void> {
  const mirrors = (await endpoints.stored(tx)).filter(({ transitions }) => transitions);
  if (mirrors.length === 0) return;
  for (const endpoint of mirrors)
    await endpoints.update(tx, { ...endpoint, updated: timeOfChange(endpoint, clock) });
  await markReconcile(tx, { now: dueClock.now() });
}

/**
 * Pauses the endpoints whose filters no longer fit the definitions after a change. They continue to collect deliveries,
 * then without their filters.
 */
export async function pauseBroken(
  tx: Transaction,
  instance: Pick<WebhookInstance, 'id' | 'endpoints' | 'clock' | 'logger'>,
  collections: Collections,
): Promise<void> {
  const { endpoints, clock } = instance;
  // From the table: the change may have changed endpoints as well.
  for (const endpoint of await endpoints.stored(tx)) {
    const problem = filterProblem(endpoint, {
      collections,
      names: tx.names,
      now: clock.now(),
      isStored: true,
    });
    if (problem === undefined || isStopped(endpoint)) continue;
    const statusReason = `Its filter cannot be used any more: ${problem.message}`;
    await endpoints.update(tx, {
      ...endpoint,
      status: 'paused',
      statusReason,
      updated: timeOfChange(endpoint, clock),
    });
    tx.afterCommit(() => warnOfEndpoint(instance, endpoint, { kind: 'paused', cause: statusReason }));
  }
}
