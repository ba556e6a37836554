import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import {
  keyCheckValue,
  loadMasterKey,
  requireKeyCheckValue,
  type MasterKey,
  type MasterKeySource,
} from './master-key.ts';

/** The key belongs to the data from the first start on: another one is refused before anything is sealed with it. */
export async function openMasterKey(
  control: Database,
  source: Omit<MasterKeySource, 'mayCreate'>,
): Promise<MasterKey> {
  const row = await control.get(
    sql`SELECT value FROM ${control.names.table('$setting')} WHERE name = 'key_check'`,
  );
  const stored = row === undefined ? undefined : String(row['value']);
  const masterKey = await loadMasterKey({ ...source, mayCreate: stored === undefined });
  // Another process may be making the same directory: whoever wrote first decides.
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
