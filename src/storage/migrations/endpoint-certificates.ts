import { sql, type Sql } from '../../sql/sql.ts';
import type { Migration } from '../migrate.ts';

/**
 * What TLS with the receiver of an endpoint uses, whether its requests are signed with the key of the instance, and which alert about the
 * end of its certificate was sent last.
 */
export const endpointCertificates: Migration = {
  name: 'certificates and asymmetric signatures of endpoints',
  statements: (engine) => (engine === 'sqlite' ? onSqlite : onPostgres),
  admits: 1,
};

const onSqlite: readonly Sql[] = [
  sql`ALTER TABLE "$endpoint" ADD COLUMN client_certificate TEXT`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN ca TEXT NOT NULL DEFAULT ''`,
  sql`ALTER TABLE "$endpoint" ADD COLUMN ed25519 TEXT NOT NULL DEFAULT 'false'`,
  sql`ALTER TABLE "$lane" ADD COLUMN certificate_alert TEXT NOT NULL DEFAULT ''`,
];

const onPostgres: readonly Sql[] = [
  sql`ALTER TABLE chancery.endpoint
  ADD COLUMN client_certificate text COLLATE "C",
  ADD COLUMN ca text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN ed25519 text COLLATE "C" NOT NULL DEFAULT 'false'`,
  sql`ALTER TABLE chancery.lane ADD COLUMN certificate_alert text COLLATE "C" NOT NULL DEFAULT ''`,
];
