import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { ask } from '../../../test/support/postgres.ts';
import { migrate } from '../migrate.ts';
import { postgresLogPartitions } from './postgres-log-partitions.ts';
import { postgresMigrations } from './postgres-migrations.ts';

const tables = ['event', 'delivery', 'outcome', 'attempt'];

test('a log that was one table becomes a partition, with its rows and indexes, and goes on behind them', async (t) => {
  const { database, url } = await openPostgresDatabase(t);
  await ask(url, 'DROP SCHEMA chancery CASCADE');
  const place = postgresMigrations.indexOf(postgresLogPartitions);
  await migrate(database, postgresMigrations.slice(0, place));
  await ask(
    url,
    `INSERT INTO chancery.event (instance_id, id, kind, collection, collection_name, record, revision, created, body)
     SELECT 'i', 'e' || n, 'record.create', 'c', 'posts', 'r', n, '2026-01-01 00:00:00.000Z', '' FROM generate_series(1, 50) AS n;
     INSERT INTO chancery.delivery SELECT instance_id, position, 1 FROM chancery.event;
     INSERT INTO chancery.outcome (instance_id, event, endpoint, attempts, is_wide, status, cause, updated)
     SELECT instance_id, event, endpoint, 1, 0, 'delivered', '', '' FROM chancery.delivery;
     INSERT INTO chancery.attempt (instance_id, event, endpoint, number, started, kind, cause, total_ms, response_headers, response_body)
     SELECT instance_id, event, endpoint, 1, '', 'success', '', 1, '[]', '' FROM chancery.delivery`,
  );
  const rowsOf = (table: string) => ask(url, `SELECT * FROM chancery.${table} ORDER BY 1, 2`);
  const rows = new Map(await Promise.all(tables.map(async (table) => [table, await rowsOf(table)] as const)));
  const files = `SELECT pg_relation_filenode(indexrelid) AS file FROM pg_index
    WHERE indrelid = ANY('{chancery.event, chancery.outcome}'::regclass[]) ORDER BY 1`;
  const indexes = await ask(url, files);

  await migrate(database, postgresMigrations.slice(0, place + 1));
  for (const table of tables) assert.deepEqual(await rowsOf(table), rows.get(table), table);
  const kept = await ask(
    url,
    files.replace('chancery.event', 'chancery.event_1').replace('chancery.outcome', 'chancery.outcome_1'),
  );
  assert.deepEqual(kept, indexes);
  // Each index of a partition belongs to one of its table, so the planner knows all of them by one.
  const alone = await ask(
    url,
    `SELECT indexrelid::regclass::text FROM pg_index JOIN pg_inherits ON inhrelid = indrelid
     WHERE NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = indexrelid)`,
  );
  assert.deepEqual(alone, []);
  const [inserted] = await ask(
    url,
    `INSERT INTO chancery.event (instance_id, id, kind, collection, collection_name, record, revision, created, body)
     VALUES ('i', 'late', 'record.create', 'c', 'posts', 'r', 1, '', '') RETURNING position, tableoid::regclass::text AS partition`,
  );
  assert.deepEqual(inserted, { position: '51', partition: 'chancery.event_1' });
  const [sequence] = await ask(url, `SELECT pg_get_serial_sequence('chancery.event', 'position') AS name`);
  assert.deepEqual(sequence, { name: 'chancery.event_position_seq' });
});
