import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pool } from 'pg';
import {
  mirror,
  type MirrorWebhook,
  PostgresMirror,
  type PostgresPort,
  postgresMirrorTable,
} from '../kit/src/mirror.ts';
import { openTestPostgres } from './support/postgres.ts';

const changes = 200;

function webhook(sequence: number): MirrorWebhook {
  const timestamp = new Date(Date.UTC(2026, 10, 20, 9) + sequence).toISOString();
  const data = { id: `r${sequence % 5}`, title: `state ${sequence}` };
  return {
    sequence,
    event: { event: 'record.update', timestamp, instance_id: 'i', collection: 'posts', data },
  };
}

test('a copy in PostgreSQL has the last state of each record, though all webhooks come at once', async (t) => {
  const server = await openTestPostgres();
  const url = await server.createDatabase();
  const pool = new Pool({ connectionString: url, max: 8 });
  // A connection that is still ending when the database is dropped is terminated by that, which the pool reports of idle ones.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  t.after(async () => {
    await pool.end();
    await server.dropDatabase(url);
  });
  await pool.query(postgresMirrorTable);
  const port: PostgresPort = {
    transaction: async (work) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await work((text, values) => client.query(text, [...values]));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
  };
  const apply = mirror({ store: new PostgresMirror(port) });
  // Each state comes twice, the last ones first.
  const sequences = Array.from({ length: changes }, (_, index) => changes - index);
  await Promise.all([...sequences, ...sequences].map((sequence) => apply(webhook(sequence))));
  const { rows } = await pool.query("SELECT data ->> 'title' AS title FROM chancery_mirror ORDER BY id");
  const last = [0, 1, 2, 3, 4].map((rest) => `state ${rest === 0 ? changes : changes - 5 + rest}`);
  assert.deepEqual(
    rows.map(({ title }) => title),
    last,
  );
});
