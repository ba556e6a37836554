import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';
import { ownTables } from './instance-migrations.ts';

/**
 * What the operator has beside the instances: keys, an audit log, answers under idempotency keys and a log of events. On PostgreSQL the
 * first three are the rows without an instance in the tables that all share.
 */
export const operatorTables: Migration = {
  name: 'what belongs to the operator',
  statements: (engine) =>
    engine === 'sqlite'
      ? [
          ...ownTables,
          sql`CREATE TABLE "$operator_event" (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            kind TEXT NOT NULL,
            instance TEXT NOT NULL,
            created TEXT NOT NULL,
            data TEXT NOT NULL
          ) STRICT`,
        ]
      : [
          sql`CREATE TABLE chancery.operator_event (
            position bigint PRIMARY KEY,
            id text COLLATE "C" NOT NULL,
            kind text COLLATE "C" NOT NULL,
            instance text COLLATE "C" NOT NULL,
            created text COLLATE "C" NOT NULL,
            data text COLLATE "C" NOT NULL
          )`,
        ],
  admits: 1,
};
