import { superusersName } from '../collections/superusers-name.ts';
import type { Instance } from '../instances/instance.ts';
import { digest } from '../secrets/digest.ts';
import { newSecretText } from '../secrets/new-secret-text.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';

export const setupLimits = {
  tokenMs: 30 * 60_000,
  /** Tokens valid at once: a server that is restarted again and again must not fill the table. */
  tokensMax: 100,
} as const;

/** Issues a token to make the first superuser with, once and within half an hour; undefined when there is a superuser. */
export function issueSetupToken(instance: Instance): Promise<string | undefined> {
  const token = newSecretText();
  const now = instance.clock.now();
  return instance.database.write(async (tx) => {
    const { names } = tx;
    const table = names.table('$setup_token');
    if (await hasSuperuser(tx)) {
      await forgetSetupTokens(tx);
      return undefined;
    }
    await tx.run(sql`
      DELETE FROM ${table} WHERE ${names.scope} AND (expires <= ${now} OR digest IN (
        SELECT digest FROM ${table} WHERE ${names.scope} ORDER BY expires DESC LIMIT ${setupLimits.tokensMax} OFFSET ${setupLimits.tokensMax - 1}))`);
    await tx.run(sql`
      INSERT INTO ${table} (${names.scopeColumn}digest, expires)
      VALUES (${names.scopeValue}${digest(token)}, ${now + setupLimits.tokenMs})`);
    return token;
  });
}

/** True when the first superuser may be made with this token now. */
export async function isSetupToken(reader: Reader, token: string, now: number): Promise<boolean> {
  if (await hasSuperuser(reader)) return false;
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT 1 FROM ${names.table('$setup_token')}
    WHERE ${names.scope} AND digest = ${digest(token)} AND expires > ${now}`);
  return rows.length > 0;
}

/** Deletes all tokens: once there is a superuser, none is needed. */
export async function forgetSetupTokens(tx: Transaction): Promise<void> {
  await tx.run(sql`DELETE FROM ${tx.names.table('$setup_token')} WHERE ${tx.names.scope}`);
}

async function hasSuperuser(reader: Reader): Promise<boolean> {
  const table = reader.names.collectionTable(superusersName);
  return (await reader.tuples(sql`SELECT 1 FROM ${table} LIMIT 1`)).length > 0;
}
