import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * How much room a quota leaves (collections/table-quotas.ts). Where much is left, PostgreSQL splits it into shards, so that transactions do not
 * wait for each other: each takes from the shard of its connection. Little room is in one shard. The sum is never more than the quota
 * leaves, as no shard is taken below 0.
 */
export const quotaRooms: Migration = {
  name: 'what quotas leave',
  statements: (engine) => (engine === 'sqlite' ? [sqliteTable] : [postgresTable, countRecords]),
  admits: 1,
};

const sqliteTable: Sql = sql`CREATE TABLE "$quota" (
  name TEXT NOT NULL,
  shard INTEGER NOT NULL,
  room INTEGER NOT NULL,
  max INTEGER NOT NULL,
  PRIMARY KEY (name, shard)
) STRICT, WITHOUT ROWID`;

const postgresTable: Sql = sql`CREATE TABLE chancery.quota (
  instance_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  shard bigint NOT NULL,
  room bigint NOT NULL,
  max bigint NOT NULL,
  PRIMARY KEY (instance_id, name, shard)
) WITH (fillfactor = 50)`;

/**
 * Called by the triggers of tables of records, once for each statement.
 *
 * Records that go leave their room in the shard of their connection, or in the first one while it has all: after a quota was lowered, they fill up
 * what is below 0 there. To move room between shards all of them are locked in their order. A transaction that has one locked already does not wait for the
 * others, but is run again: two that do would wait for each other.
 */
const countRecords: Sql = sql`CREATE OR REPLACE FUNCTION chancery.count_records() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  of_instance CONSTANT text := substr(TG_TABLE_SCHEMA, 3);
  own CONSTANT bigint := pg_backend_pid() % 8;
  changed_rows bigint;
  in_first bigint;
  in_others bigint;
  total bigint;
  locked bigint;
BEGIN
  SELECT count(*) INTO changed_rows FROM changed;
  IF changed_rows = 0 THEN RETURN NULL; END IF;
  IF TG_OP = 'DELETE' THEN
    UPDATE chancery.quota SET room = room + changed_rows
      WHERE instance_id = of_instance AND name = 'records' AND shard = own AND room > 0;
    IF NOT FOUND THEN
      UPDATE chancery.quota SET room = room + changed_rows
        WHERE instance_id = of_instance AND name = 'records' AND shard = 0;
    END IF;
    PERFORM set_config('chancery.holds_quota', 'yes', true);
    RETURN NULL;
  END IF;
  UPDATE chancery.quota SET room = room - changed_rows
    WHERE instance_id = of_instance AND name = 'records' AND shard = own AND room >= changed_rows;
  IF FOUND THEN
    PERFORM set_config('chancery.holds_quota', 'yes', true);
    RETURN NULL;
  END IF;
  SELECT sum(room) FILTER (WHERE shard = 0), sum(room) FILTER (WHERE shard > 0) INTO in_first, in_others
    FROM chancery.quota WHERE instance_id = of_instance AND name = 'records';
  IF in_first IS NULL THEN RETURN NULL; END IF;
  IF in_others = 0 AND in_first < 16000 THEN
    UPDATE chancery.quota SET room = room - changed_rows
      WHERE instance_id = of_instance AND name = 'records' AND shard = 0 AND room >= changed_rows;
    IF FOUND THEN
      PERFORM set_config('chancery.holds_quota', 'yes', true);
      RETURN NULL;
    END IF;
    SELECT sum(room) INTO in_others FROM chancery.quota WHERE instance_id = of_instance AND name = 'records' AND shard > 0;
    IF in_others = 0 THEN RAISE EXCEPTION USING ERRCODE = 'CQ001', MESSAGE = 'quota of records'; END IF;
  END IF;
  IF current_setting('chancery.holds_quota', true) = 'yes' THEN
    SELECT count(*) INTO locked FROM (
      SELECT 1 FROM chancery.quota WHERE instance_id = of_instance AND name = 'records' FOR NO KEY UPDATE SKIP LOCKED) AS shards;
    IF locked < 8 THEN RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'the room of the quota is moved by others'; END IF;
  ELSE
    PERFORM 1 FROM chancery.quota WHERE instance_id = of_instance AND name = 'records' ORDER BY shard FOR NO KEY UPDATE;
  END IF;
  PERFORM set_config('chancery.holds_quota', 'yes', true);
  SELECT sum(room) - changed_rows INTO total FROM chancery.quota WHERE instance_id = of_instance AND name = 'records';
  IF total < 0 THEN RAISE EXCEPTION USING ERRCODE = 'CQ001', MESSAGE = 'quota of records'; END IF;
  UPDATE chancery.quota SET room = CASE
      WHEN total >= 8000 THEN total / 8 + CASE WHEN shard = 0 THEN total % 8 ELSE 0 END
      WHEN shard = 0 THEN total ELSE 0 END
    WHERE instance_id = of_instance AND name = 'records';
  RETURN NULL;
END $body$`;
