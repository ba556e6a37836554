import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * Where the operator's events are sent. `after_event` is the position up to which they are done with; `attempts` and `due` are about the next
 * one. One process at a time sends to an endpoint: `holder`, until `held_until`.
 */
export const operatorEndpoints: Migration = {
  name: 'endpoints of the operator',
  statements: (engine) => [
    engine === 'sqlite'
      ? sql`CREATE TABLE "$operator_endpoint" (
          id TEXT PRIMARY KEY,
          url TEXT NOT NULL,
          description TEXT NOT NULL,
          events TEXT NOT NULL,
          status TEXT NOT NULL,
          secret TEXT NOT NULL,
          previous_secret TEXT NOT NULL,
          previous_secret_until TEXT NOT NULL,
          after_event INTEGER NOT NULL,
          skipped INTEGER NOT NULL,
          attempts INTEGER NOT NULL,
          due INTEGER NOT NULL,
          last_status INTEGER,
          last_error TEXT NOT NULL,
          failing_since TEXT NOT NULL,
          holder TEXT NOT NULL,
          held_until INTEGER NOT NULL,
          created TEXT NOT NULL,
          updated TEXT NOT NULL
        ) STRICT, WITHOUT ROWID`
      : sql`CREATE TABLE chancery.operator_endpoint (
          id text COLLATE "C" PRIMARY KEY,
          url text COLLATE "C" NOT NULL,
          description text COLLATE "C" NOT NULL,
          events text COLLATE "C" NOT NULL,
          status text COLLATE "C" NOT NULL,
          secret text COLLATE "C" NOT NULL,
          previous_secret text COLLATE "C" NOT NULL,
          previous_secret_until text COLLATE "C" NOT NULL,
          after_event bigint NOT NULL,
          skipped bigint NOT NULL,
          attempts bigint NOT NULL,
          due bigint NOT NULL,
          last_status bigint,
          last_error text COLLATE "C" NOT NULL,
          failing_since text COLLATE "C" NOT NULL,
          holder text COLLATE "C" NOT NULL,
          held_until bigint NOT NULL,
          created text COLLATE "C" NOT NULL,
          updated text COLLATE "C" NOT NULL
        )`,
  ],
  admits: 1,
};
