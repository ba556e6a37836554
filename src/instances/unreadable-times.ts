import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import { filterRules, ruleError } from '../definitions/check-rules.ts';
import type { AuditLog } from '../logs/audit-log.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { filterProblem } from '../endpoints/endpoint-conditions.ts';
import type { EndpointStore } from '../endpoints/endpoint-store.ts';

interface Parts {
  readonly id: string;
  readonly database: Database;
  readonly collections: CollectionStore;
  readonly endpoints: EndpointStore;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The setting that an upgrade leaves where stored filters must be checked. */
const setting = 'unreadable_times';

/** A stored rule or filter that compares a date with a text that is no time. */
interface Unreadable {
  /** Id of the collection whose rule it is; empty for an endpoint's filter. */
  readonly collection: string;
  readonly target: string;
  readonly name: string;
  readonly text: string;
  readonly reason: string;
}

/**
 * Lists, once after an upgrade, the stored rules and filters that could not be saved today because they compare a date with a text that is
 * no time. They still compare it as a text (http-api A24), and their authors should know.
 */
export async function listUnreadableTimes(instance: Parts): Promise<void> {
  const { id, database, audit, logger } = instance;
  const { names } = database;
  const noted = sql`FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = ${setting}`;
  if ((await database.get(sql`SELECT name ${noted}`)) === undefined) return;
  const unreadable = await database.write(async (tx) => {
    const [mine] = await tx.returning(sql`DELETE ${noted} RETURNING name`);
    // Another node was faster.
    if (mine === undefined) return [];
    const all = await findUnreadable(tx, instance);
    for (const { collection, target, ...details } of all)
      await audit.append(tx, 'operator', { action: 'filter.unreadable', collection, target, details });
    return all;
  });
  for (const one of unreadable)
    logger.warn('A stored filter compares a date with an invalid time.', { instance: id, ...one });
}

async function findUnreadable(
  tx: Transaction,
  { collections, endpoints, clock }: Parts,
): Promise<readonly Unreadable[]> {
  const { names } = tx;
  const unreadable: Unreadable[] = [];
  for (const collection of collections.all())
    for (const [name, text] of filterRules(collection)) {
      const rule = { collection, collections, names };
      const reason = ruleError(text, rule)?.message;
      if (reason !== undefined && ruleError(text, { ...rule, isStored: true }) === undefined)
        unreadable.push({ collection: collection.id, target: '', name, text, reason });
    }
  for (const endpoint of await endpoints.stored(tx)) {
    const context = { collections, names, now: clock.now() };
    const reason = filterProblem(endpoint, context)?.message;
    if (reason !== undefined && filterProblem(endpoint, { ...context, isStored: true }) === undefined)
      unreadable.push({ collection: '', target: endpoint.id, name: 'filter', text: endpoint.filter, reason });
  }
  return unreadable;
}
