import { join } from 'node:path';
import { AuditLog } from './logs/audit-log.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/logger.ts';
import { toTimestamp } from './base/timestamp.ts';
import { CollectionStore } from './collections/collection-store.ts';
import { ensureFoldedIndexes } from './collections/tables.ts';
import { EventLog, type WakeUp } from './events/event-log.ts';
import { InstanceFiles, type InstanceFilesOptions } from './files/instance-files.ts';
import type { StoredQuotas } from './instances/instance-index.ts';
import type { Instance } from './instances/instance.ts';
import { readRows, type InstanceEntry } from './instances/instance-rows.ts';
import {
  BeingReplaced,
  isMarkedReplaced,
  requireNotReplaced,
  unmarkReplaced,
} from './instances/replacement-mark.ts';
import { applyQuotas } from './instances/apply-quotas.ts';
import type { Quotas } from './instances/quotas.ts';
import { requireOwnSecrets } from './instances/require-own-secrets.ts';
import { ensureSystemCollections } from './instances/system-collections.ts';
import { listUnreadableTimes } from './instances/unreadable-times.ts';
import { WindowStore } from './limits/window-store.ts';
import { RequestLog } from './logs/request-log.ts';
import type { GuardedRequests } from './network/guarded-requests.ts';
import { backfillRecords } from './records/backfill-records.ts';
import type { MasterKey } from './secrets/master-key.ts';
import type { PasswordHasher } from './secrets/password.ts';
import { storedKeys } from './instances/require-own-secrets.ts';
import { sealerOf } from './secrets/seal.ts';
import { SettingsStore } from './settings/settings-store.ts';
import { sql } from './sql/sql.ts';
import type { DataHome, Memory } from './storage/data-home.ts';
import type { Database } from './storage/database.ts';
import { filesPlace } from './storage/storage-health.ts';
import { EndpointStore } from './endpoints/endpoint-store.ts';
import { addressEvent, fanOut } from './deliveries/fan-out.ts';

export interface InstanceParts {
  readonly home: DataHome;
  /** The folder with a folder for the files of each instance, by its id. */
  readonly folder: string;
  /** The way to S3. */
  readonly requests: GuardedRequests;
  /** Wraps the database: how crash points are injected. */
  readonly wrapDatabase: ((database: Database) => Database) | undefined;
  /** As `wrapDatabase`, for the place of its files. */
  readonly wrapStore: InstanceFilesOptions['wrapStore'];
  /** Called with the id of an instance after files of it have been noted, to be removed at this time. */
  readonly onFilesNoted: (instanceId: string, due: number) => void;
  readonly masterKey: MasterKey;
  readonly passwords: PasswordHasher;
  readonly clock: Clock;
  readonly dueClock: Clock;
  readonly wakeUp: WakeUp;
  readonly auditDays: number;
  readonly bodyBytesMax: number;
  readonly logger: Logger;
  /** All instances. */
  readonly entries: () => readonly InstanceEntry[];
  readonly quotasOf: (instanceId: string) => StoredQuotas;
}

/** Puts the parts of one instance together, and caches the definitions and settings that requests need. On failure nothing stays open. */
export async function openInstance(entry: InstanceEntry, options: InstanceParts): Promise<Instance> {
  const { home, wrapDatabase, masterKey, clock, dueClock, wakeUp, auditDays, bodyBytesMax, logger } = options;
  const sealer = sealerOf(storedKeys(masterKey, entry));
  const collections = new CollectionStore();
  const settings = new SettingsStore(sealer);
  const endpoints = new EndpointStore(sealer);
  const opening = { isSettled: false };
  const memory = memoryOf(
    { collections, settings, endpoints },
    { opening, wake: () => wakeUp.notify(entry.id) },
  );
  let hasLoss = false;
  const plain = await home.openInstance(entry.id, memory, {
    onLoss: (loss) => {
      hasLoss = true;
      logger.error(loss, { instance: entry.id });
    },
    requireOwn: (reader) => requireOwnSecrets(reader, { masterKey, entry, entries: options.entries }),
  });
  const database = wrapDatabase?.(plain) ?? plain;
  try {
    await settleMark(database, entry, home.control);
    opening.isSettled = true;
    await ensureSystemCollections({ database, sealer, now: toTimestamp(clock.now()) });
    await collections.reload(database);
    await ensureFoldedIndexes(database, collections.all());
    await settings.reload(database);
    const quotas = (): Quotas => options.quotasOf(entry.id).quotas;
    await applyQuotas({ database, collections }, options.quotasOf(entry.id));
    const events = eventLogOf(entry, { collections, settings, endpoints }, options);
    const refresh = (): Promise<void> => home.refresh(entry.id);
    const logs = new RequestLog({ open: () => home.openLogs(entry.id), settings, clock, logger });
    const { id, shownId, slug } = entry;
    const audit = new AuditLog({ id, database, clock, auditDays, logger });
    await listUnreadableTimes({ id, database, collections, endpoints, audit, clock, logger });
    const windows = database.names.isConcurrent
      ? new WindowStore({ instanceId: id, database, clock: dueClock, sealer })
      : undefined;
    if (hasLoss) audit.note('operator', { action: 'instance.loss' });
    return {
      id,
      shownId,
      slug,
      database,
      collections,
      settings,
      refresh,
      events,
      endpoints,
      records: backfillRecords({ database, collections, refresh }),
      files: filesOf(id, settings, options),
      audit,
      windows,
      logs,
      sealer,
      passwords: options.passwords,
      clock,
      dueClock,
      auditDays,
      bodyBytesMax,
      quotas,
      logger,
      stop: () => stopInstance({ audit, logs, database }),
    };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

function eventLogOf(
  { id, shownId }: InstanceEntry,
  { collections, settings, endpoints }: Remembered,
  { clock, wakeUp }: InstanceParts,
): EventLog {
  return new EventLog({
    instanceId: shownId,
    listener: (tx, events) => fanOut(tx, events, endpoints),
    listenerTables: ['$delivery'],
    address: (tx, event, change) =>
      addressEvent(tx, event, { change, endpoints, settings, collections, clock }),
    wakeUp: (bytes) => wakeUp.noteEvent(id, bytes),
  });
}

/** Removes the mark of data that was replaced once, and is an instance of its own now. Throws unavailable while it is being replaced. */
async function settleMark(database: Database, { id }: InstanceEntry, control: Database): Promise<void> {
  if (!(await isMarkedReplaced(database))) return;
  const [row] = await readRows(control, sql`id = ${id}`);
  if (row === undefined || row.state === 'replacing' || row.state === 'deleted') throw new BeingReplaced();
  await unmarkReplaced(database);
}

async function stopInstance({
  audit,
  logs,
  database,
}: Pick<Instance, 'audit' | 'logs' | 'database'>): Promise<void> {
  await audit.settle();
  await logs.stop();
  await database.stop();
}

function filesOf(id: string, settings: SettingsStore, options: InstanceParts): InstanceFiles {
  const { folder, requests, clock, wrapStore, onFilesNoted, home } = options;
  const onFailure = (error: unknown): void => home.health.note(filesPlace, error);
  const onNoted = (due: number): void => onFilesNoted(id, due);
  const remote = { settings, requests, clock };
  return new InstanceFiles({ folder: join(folder, id), remote, wrapStore, onNoted, onFailure });
}

type Remembered = Pick<Instance, 'collections' | 'settings' | 'endpoints'>;

interface Remembering {
  /** Settled once it is known that no backup is taking the place of the instance. */
  readonly opening: { readonly isSettled: boolean };
  readonly wake: () => void;
}

function memoryOf({ collections, settings, endpoints }: Remembered, { opening, wake }: Remembering): Memory {
  return {
    read: async (reader) => {
      if (opening.isSettled) await requireNotReplaced(reader);
      const rememberCollections = await collections.read(reader);
      const read = await settings.read(reader);
      const rememberEndpoints = await endpoints.read(reader);
      return () => {
        rememberCollections();
        settings.remember(read);
        // Another node resumed an endpoint, or made a probe of it due. When its wake-up arrived, this node did not know of it yet.
        if (rememberEndpoints()) wake();
      };
    },
  };
}
