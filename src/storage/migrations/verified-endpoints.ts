import { sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * When the receiver of an endpoint confirmed that it wants webhooks, and until when a challenge may be under way (milliseconds since 1970). Those of accounts that are there already count as confirmed. An older
 * node of a rolling upgrade still sends to all of them.
 */
export const verifiedEndpoints: Migration = {
  name: 'verified endpoints of accounts',
  statements: (engine) =>
    engine === 'sqlite'
      ? [
          sql`ALTER TABLE "$endpoint" ADD COLUMN verified TEXT NOT NULL DEFAULT ''`,
          sql`ALTER TABLE "$endpoint" ADD COLUMN challenged_until INTEGER NOT NULL DEFAULT 0`,
          sql`UPDATE "$endpoint" SET verified = updated WHERE owner <> ''`,
        ]
      : [
          sql`ALTER TABLE chancery.endpoint
            ADD COLUMN verified text COLLATE "C" NOT NULL DEFAULT '',
            ADD COLUMN challenged_until bigint NOT NULL DEFAULT 0`,
          sql`UPDATE chancery.endpoint SET verified = updated WHERE owner <> ''`,
        ],
  admits: 1,
};
