import type { Actor } from '../../audit/audit-entry.ts';
import { auditLogOf } from '../../audit/audit-log.ts';
import { notFound } from '../../base/errors.ts';
import type { Instance } from '../../instances/instance.ts';
import { sql } from '../../sql/sql.ts';

/** Revokes an API key and audits that: once this resolves, every node refuses the key. Throws not_found. */
export async function deleteApiKey(instance: Instance, id: string, actor: Actor): Promise<void> {
  await instance.database.write(async (tx) => {
    const { names } = tx;
    const deleted = await tx.run(
      sql`DELETE FROM ${names.table('$api_key')} WHERE ${names.scope} AND id = ${id}`,
    );
    if (deleted === 0) throw notFound();
    await auditLogOf(instance).append(tx, actor, { action: 'key.delete', target: id });
  });
}
