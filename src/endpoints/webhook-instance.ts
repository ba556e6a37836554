import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import type { EventLog } from '../events/event-log.ts';
import type { EndpointStore } from './endpoint-store.ts';
import type { SettingsStore } from '../settings/settings-store.ts';
import type { WindowStore } from '../limits/window-store.ts';
import type { Sealer } from '../secrets/seal.ts';
import type { Database } from '../storage/database.ts';
import type { BackfillRecords } from './backfill-records.ts';

/** The parts of an instance that webhooks use. The instance itself is in a later room. */
export interface WebhookInstance {
  readonly id: string;
  /** See `Instance`. */
  readonly shownId: string;
  readonly slug: string;
  readonly database: Database;
  readonly collections: CollectionStore;
  readonly events: EventLog;
  /** Its records, for backfills. */
  readonly records: BackfillRecords;
  /** Shared by routes, fan-out and dispatcher, as is its cache. */
  readonly endpoints: EndpointStore;
  readonly settings: SettingsStore;
  readonly sealer: Sealer;
  /** Where all nodes count requests together; undefined where no other process counts. */
  readonly windows: WindowStore | undefined;
  /** Larger bodies stay in the log, and requests have only the id of the record. */
  readonly bodyBytesMax: number;
  /** What the operator lets it use. */
  readonly quotas: () => { readonly endpoints?: number; readonly deliveriesPerDay?: number };
  readonly clock: Clock;
  /** The clock for times that nodes compare, such as due times. */
  readonly dueClock: Clock;
  readonly logger: Logger;
}

/** An instance that stays open until it is released. */
export interface WebhookInstanceLoan {
  readonly instance: WebhookInstance;
  release(): void;
}
