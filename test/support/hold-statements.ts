import type { TestContext } from 'node:test';
import { Client } from 'pg';
import { sql } from '../../src/sql/sql.ts';

const key = 7;

/** A statement that waits while {@link holdStatements} holds it. Any number of them can run at once. */
export const heldStatement = sql`SELECT pg_advisory_xact_lock_shared(${key})`;

/** Holds each {@link heldStatement} of a PostgreSQL database until the returned function is called or the test ends. */
export async function holdStatements(t: TestContext, url: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let ended: Promise<void> | undefined;
  const release = (): Promise<void> => (ended ??= client.end());
  t.after(release);
  await client.query(`SELECT pg_advisory_lock(${key})`);
  return release;
}
