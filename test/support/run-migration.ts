import type { Transaction } from '../../src/storage/database.ts';
import type { Migration, MigrationNotice } from '../../src/storage/migrate.ts';

/** Runs one step over what a test has stored as an older version would, whatever steps came after it. Returns its notices. */
export async function runMigration(
  tx: Transaction,
  { statements, change }: Migration,
): Promise<readonly MigrationNotice[]> {
  for (const statement of statements(tx.names.engine)) await tx.run(statement);
  return (await change?.(tx)) ?? [];
}
