import type { Actor } from '../../audit/audit-entry.ts';
import { auditLogOf } from '../../audit/audit-log.ts';
import { AppError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import type { Instance } from '../../instances/instance.ts';
import { digest } from '../../secrets/digest.ts';
import { newSecretText } from '../../secrets/new-secret-text.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../../storage/database.ts';
import { apiKeyLimits, type ApiKey } from './api-key.ts';
import { decodeApiKey } from './decode-api-key.ts';

export interface NewApiKey {
  readonly apiKey: ApiKey;
  /** The key itself; it must be shown now, as it is not stored. */
  readonly key: string;
}

/** Creates an API key and audits that. Throws bad_request. */
export async function createApiKey(instance: Instance, body: JsonObject, actor: Actor): Promise<NewApiKey> {
  // The key's collections may have been made through another node.
  await instance.refresh();
  const now = instance.clock.now();
  const settings = decodeApiKey(body, { collections: instance.collections, now });
  const apiKey = { id: newId(), ...settings, created: toTimestamp(now), lastUsed: '' };
  const key = `ck_${apiKey.id}${newSecretText()}`;
  await instance.database.write(async (tx) => {
    const table = tx.names.table('$api_key');
    const row = await tx.get(sql`SELECT count(*) AS keys FROM ${table} WHERE ${tx.names.scope}`);
    if (Number(row?.['keys']) >= apiKeyLimits.keysMax) {
      const message = `Failed to create API key. There can be at most ${apiKeyLimits.keysMax} keys.`;
      throw new AppError('bad_request', message);
    }
    await insert(tx, apiKey, digest(key));
    const entry = { action: 'key.create', target: apiKey.id, details: { ...settings } } as const;
    await auditLogOf(instance).append(tx, actor, entry);
  });
  return { apiKey, key };
}

async function insert(tx: Transaction, apiKey: ApiKey, digested: string): Promise<void> {
  const { id, name, scopes, collections, expires, created, lastUsed } = apiKey;
  await tx.run(sql`
    INSERT INTO ${tx.names.table('$api_key')}
      (${tx.names.scopeColumn}id, name, digest, scopes, collections, expires, created, last_used)
    VALUES (${tx.names.scopeValue}${id}, ${name}, ${digested}, ${JSON.stringify(scopes)},
      ${JSON.stringify(collections)}, ${expires}, ${created}, ${lastUsed})`);
}
