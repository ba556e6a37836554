import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * Links to portals and their sessions. `digest` is that of the link, and of its session once it was opened; `expires` is when that ends if it
 * is not used, and `ends` when the session ends in any case.
 */
export const portalLinks: Migration = {
  name: 'portal links',
  statements: (engine) => [
    engine === 'sqlite'
      ? sql`CREATE TABLE "$portal_link" (
          position INTEGER PRIMARY KEY,
          id TEXT NOT NULL UNIQUE,
          digest TEXT NOT NULL,
          endpoints TEXT NOT NULL,
          owner TEXT NOT NULL,
          scopes TEXT NOT NULL,
          created TEXT NOT NULL,
          opened TEXT NOT NULL,
          expires TEXT NOT NULL,
          ends TEXT NOT NULL
        ) STRICT`
      : sql`CREATE TABLE chancery.portal_link (
          instance_id text COLLATE "C" NOT NULL,
          position bigint GENERATED ALWAYS AS IDENTITY,
          id text COLLATE "C" NOT NULL,
          digest text COLLATE "C" NOT NULL,
          endpoints text COLLATE "C" NOT NULL,
          owner text COLLATE "C" NOT NULL,
          scopes text COLLATE "C" NOT NULL,
          created text COLLATE "C" NOT NULL,
          opened text COLLATE "C" NOT NULL,
          expires text COLLATE "C" NOT NULL,
          ends text COLLATE "C" NOT NULL,
          PRIMARY KEY (instance_id, id)
        )`,
  ],
  admits: 1,
};
