import { fromTimestamp, toTimestamp, type Timestamp } from '../base/timestamp.ts';
import type { Instance } from '../instances/instance.ts';
import { sql } from '../sql/sql.ts';
import { apiKeyLimits } from './api-key.ts';

const minuteMs = 60_000;

/** When a use was last written from here, by the id of the key. */
const written = new WeakMap<Instance, Map<string, number>>();

/**
 * Writes that a key was used, at most once a minute, and lets no request wait for it. It is only there to be looked at: a write
 * that fails is made good by the next one, a minute later.
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
