import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import {
  keyCheckValue,
  loadMasterKey,
  requireKeyCheckValue,
  type MasterKey,
  type MasterKeySource,
} from './master-key.ts';

/** Opens the master key. The first start binds it to the data; later another key is refused before it seals anything. */
export async function openMasterKey(
  control: Database,
  source: Omit<MasterKeySource, 'mayCreate'>,
): Promise<MasterKey> {
  const row = await control.get(
    sql`SELECT value FROM ${control.names.table('$setting')} WHERE name = 'key_check'`,
  );
  const stored = row === undefined ? undefined : String(row['value']);
  const masterKey = await loadMasterKey({ ...source, mayCreate: stored === undefined });
  // Another process may be setting up the same data: the first to write decides.
  await control.write((tx) =>
    tx.run(sql`
      INSERT INTO ${tx.names.table('$setting')} (name, value) VALUES ('key_check', ${keyCheckValue(masterKey)}) ON CONFLICT DO NOTHING`),
  );
  const decided = await control.get(
    sql`SELECT value FROM ${control.names.table('$setting')} WHERE name = 'key_check'`,
  );
  requireKeyCheckValue(masterKey, String(decided?.['value']));
  return masterKey;
}
