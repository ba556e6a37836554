import type { TestContext } from 'node:test';
import { Client } from 'pg';

/** Returns a session of another program, in a transaction that has an id. */
export async function beginElsewhere(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  return client;
}
