import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import type { EventLog } from '../events/event-log.ts';
import type { AuditLog } from '../logs/audit-log.ts';
import type { WindowStore } from '../limits/window-store.ts';
import type { InstanceFiles } from '../files/instance-files.ts';
import type { RequestLog } from '../logs/request-log.ts';
import type { PasswordHasher } from '../secrets/password.ts';
import type { Sealer } from '../secrets/seal.ts';
import type { SettingsStore } from '../settings/settings-store.ts';
import type { Database } from '../storage/database.ts';
import type { BackfillRecords } from '../endpoints/backfill-records.ts';
import type { EndpointStore } from '../endpoints/endpoint-store.ts';
import type { Quotas } from './quotas.ts';

/**
 * One instance: its records, superusers, endpoints and secrets, reachable through this object's `database` and no other way.
 *
 *   instance-directory   the instances, and their hosts and slugs (control.db)
 *   open-instances       the instances whose files are open now, a bounded number, each on loan while it is used
 *   due-index            in which instances something is due, and when (control.db); due-work wakes them then
 *   instance-visits      opens closed instances in the background, after an upgrade and once a day
 *   current-collection   a collection's current definition, which another node may have made or changed; with… and read… repeat
 *                        work on a definition that has changed meanwhile
 *   system-collections   the collections of every new instance: superusers, the companions of auth collections, users
 */
export interface Instance {
  /** 15 characters of `[a-z0-9]`: what its data is stored under. A restored backup gets another one. */
  readonly id: string;
  /** What it is known by, in every webhook as `instance_id`. A restored backup keeps it. */
  readonly shownId: string;
  readonly slug: string;
  readonly database: Database;
  readonly collections: CollectionStore;
  readonly settings: SettingsStore;
  /** Reads collections, settings and endpoints again, where another process may have changed them. */
  readonly refresh: () => Promise<void>;
  readonly events: EventLog;
  readonly endpoints: EndpointStore;
  /** Its records, as backfills of endpoints read them. */
  readonly records: BackfillRecords;
  readonly files: InstanceFiles;
  readonly audit: AuditLog;
  /** Where all nodes count their clients together; undefined on SQLite, where no other process counts. */
  readonly windows: WindowStore | undefined;
  /** The log of its requests. */
  readonly logs: RequestLog;
  readonly sealer: Sealer;
  readonly passwords: PasswordHasher;
  readonly clock: Clock;
  /**
   * The time for what several nodes compare, such as when something is due: where there may be other nodes, it is the database's.
   */
  readonly dueClock: Clock;
  /** How long its audit log is kept; 0 for ever. */
  readonly auditDays: number;
  /** The size of a webhook's body above which only the id of the record is sent. */
  readonly bodyBytesMax: number;
  /** What the operator lets it use, as this process knows it. */
  readonly quotas: () => Quotas;
  /** Reports to the operator what clients must not see. */
  readonly logger: Logger;
  /** Writes what is pending, and closes the database. */
  stop(): Promise<void>;
}
