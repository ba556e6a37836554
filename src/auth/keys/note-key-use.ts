import { fromTimestamp, toTimestamp, type Timestamp } from '../../base/timestamp.ts';
import type { Instance } from '../../instances/instance.ts';
import { sql } from '../../sql/sql.ts';
import { apiKeyLimits } from './api-key.ts';

const minuteMs = 60_000;

/** When this process last wrote a use, by the id of the key. */
const written = new WeakMap<Instance, Map<string, number>>();

/**
 * Writes that a key was used, at most once a minute, without holding up the request. The time only informs: a failed write is
 * made up for by the next use after a minute.
 */
export function noteKeyUse(instance: Instance, id: string, lastUsed: Timestamp): void {
  const now = instance.clock.now();
  if (lastUsed !== '' && now - fromTimestamp(lastUsed) < minuteMs) return;
  let known = written.get(instance);
  if (known === undefined || known.size > apiKeyLimits.keysMax)
    written.set(instance, (known = new Map<string, number>()));
  if (now - (known.get(id) ?? Number.NEGATIVE_INFINITY) < minuteMs) return;
  known.set(id, now);
  const isWritten = instance.database.write((tx) =>
    // Another node may have written a later use.
    tx.run(sql`
      UPDATE ${tx.names.table('$api_key')} SET last_used = ${toTimestamp(now)}
      WHERE ${tx.names.scope} AND id = ${id} AND last_used < ${toTimestamp(now)}`),
  );
  isWritten.catch(() => undefined);
}
