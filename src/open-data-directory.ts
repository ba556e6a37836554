import { join } from 'node:path';
import { type Clock, systemClock } from './base/clock.ts';
import { createLogger } from './base/create-logger.ts';
import type { Logger } from './base/logger.ts';
import type { Config } from './config/config.ts';
import { WakeUp } from './events/event-log.ts';
import type { BlobStore } from './files/blob-store.ts';
import { readDueInstances } from './files/file-removals.ts';
import { readWaitingInstances, RemovalRunner } from './records/removal-runner.ts';
import { FileSweeper } from './files/file-sweeper.ts';
import { uploadFolderIn } from './files/instance-files.ts';
import { applyingQuotas } from './instances/apply-quotas.ts';
import { DueIndex } from './instances/due-index.ts';
import type { DueWork } from './instances/due-work.ts';
import { InstanceDirectory } from './instances/instance-directory.ts';
import type { InstanceEntry } from './instances/instance-rows.ts';
import type { Instance } from './instances/instance.ts';
import { type Loan, OpenInstances } from './instances/open-instances.ts';
import { reportDamage } from './instances/report-damage.ts';
import { GuardedRequests } from './network/guarded-requests.ts';
import { openInstance } from './open-instance.ts';
import { type DeliveringWork, readDueTimes, startDueWork } from './start-due-work.ts';
import { type MasterKey, openMasterKey } from './secrets/master-key.ts';
import { PasswordHasher } from './secrets/password.ts';
import { type DataHome, type DataLock, lockDataDirectory } from './storage/data-home.ts';
import type { Database } from './storage/database.ts';
import type { MigrationNotice } from './storage/migrate.ts';
import { probeFolder } from './storage/probe-folder.ts';
import { filesPlace } from './storage/storage-health.ts';
import { DatabaseClock } from './storage/postgres/database-clock.ts';
import type { UpgradeWait } from './storage/postgres/wait-for-nodes.ts';
import { openSqliteHome, prepareDirectory } from './storage/sqlite/home.ts';
import { sqliteVersion } from './storage/sqlite/sqlite-version.ts';
import { requireNoMove } from './transfer/move-mark.ts';

/** Older versions of SQLite could corrupt a database when they reset its write-ahead log (https://www.sqlite.org/wal.html#walresetbug). */
const sqliteVersionMin = [3, 51, 3] as const;

/** The service cannot start here. The message is one line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * `server`: there is one on a data directory · `host`: runs the instances that the server places in its thread · `command`: may write beside
 * them · `reader`: writes nothing, and leaves no trace.
 */
export type DataRole = 'server' | 'host' | 'command' | 'reader';

/** Parts of the data that tests replace or wrap. */
export interface DataParts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Wraps every instance's database: how crash points are injected. */
  readonly wrapDatabase?: (database: Database) => Database;
  /** Wraps the place of every instance's files. */
  readonly wrapStore?: (store: BlobStore) => BlobStore;
  /** What this process is: by default a command, which may work beside a server. */
  readonly role?: DataRole;
  /** Of a host: whether an instance is placed in it. One that was moved elsewhere is noted there. */
  readonly isPlaced?: (instanceId: string) => boolean;
  /** How long a server waits for nodes of older versions; without it, nothing waits. */
  readonly upgradeWait?: UpgradeWait;
  /** The hasher of passwords, by default at the standard cost: most tests set a cheaper one. */
  readonly passwords?: PasswordHasher;
  /** How many instances may be open at once, for tests in which more are wanted. */
  readonly openInstancesMax?: number;
}

/** The opened data directory or database. Commands work on it too, whether or not a server is running. */
export interface DataDirectory {
  readonly home: DataHome;
  /** The clock by which deliveries are due: the database's where several nodes share it. */
  readonly dueClock: Clock;
  readonly directory: InstanceDirectory;
  readonly instances: OpenInstances;
  readonly wakeUp: WakeUp;
  readonly masterKey: MasterKey;
  /** The way to S3. */
  readonly requests: GuardedRequests;
  /** Removes files once it is started. */
  readonly fileSweeper: FileSweeper;
  readonly removals: RemovalRunner;
  /** How many instances this version has still to upgrade, for the operator; undefined where there are none. */
  readonly upgradeWarning: string | undefined;
  /** Begins the work of a server in the background. */
  start(delivering: DeliveringWork): Promise<void>;
  stop(): Promise<void>;
}

/** Opens the data; creates the directory, its key and its default instance when they are missing. Throws StartError, SecretError. */
export async function openDataDirectory(config: Config, parts: DataParts): Promise<DataDirectory> {
  const clock = parts.clock ?? systemClock;
  const logger = parts.logger ?? createLogger(config);
  const home = await openHome(config, { ...parts, logger });
  const dueClock =
    config.postgres === undefined ? clock : new DatabaseClock(clock, { isFixed: parts.clock !== undefined });
  const { masterKey, directory } = await openControl(home, config, clock);
  const wakeUp = new WakeUp();
  const requests = new GuardedRequests({ policy: config.policy, clock });
  const { wrapDatabase, wrapStore, passwords = new PasswordHasher() } = parts;
  const { folder } = config.files;
  const open = (entry: InstanceEntry): Promise<Instance> =>
    openInstance(entry, {
      home,
      folder,
      requests,
      wrapDatabase,
      wrapStore,
      onFilesNoted: (id, due) => fileSweeper.note(id, due),
      masterKey,
      passwords,
      clock,
      dueClock,
      wakeUp,
      auditDays: config.auditDays,
      bodyBytesMax: config.webhookBodyBytesMax,
      logger,
      entries: () => directory.all(),
      quotasOf: (id) => directory.quotasOf(id),
    });
  const isShared = config.postgres !== undefined;
  const { role = 'command' } = parts;
  const index =
    isShared || role === 'reader'
      ? undefined
      : new DueIndex({ control: home.control, isServer: role !== 'command', logger });
  const instances = new OpenInstances({
    open,
    index: index && notedHere(index, parts.isPlaced),
    readDue: (instance) => readDueTimes(instance, config.webhookDays),
    openMax: parts.openInstancesMax,
    clock,
    logger,
  });
  directory.onQuotas(applyingQuotas({ directory, instances, logger }));
  const fileSweeper = new FileSweeper({
    instances: () => (isShared ? directory.all().map(({ id }) => id) : []),
    borrow: borrowFrom({ directory, instances }),
    uploadFolderOf: (id) => uploadFolderIn(join(folder, id)),
    findDue: config.postgres && ((now) => readDueInstances(home.background, now)),
    clock: dueClock,
    logger,
  });
  const removals = new RemovalRunner({
    borrow: borrowFrom({ directory, instances }),
    findDue: config.postgres && (() => readWaitingInstances(home.background, dueClock.now())),
    logger,
  });
  home.health.addProbe(filesPlace, () => probeFolder(folder));
  home.health.onDamage(reportDamage({ borrow: borrowFrom({ directory, instances }), logger }));
  const data = { home, dueClock, directory, instances, wakeUp, masterKey, requests, fileSweeper, removals };
  return withLife(data, {
    index: role === 'server' ? index : undefined,
    clock: dueClock,
    logger,
  });
}

/** Notes nothing of an instance that is closed once it is placed elsewhere: there it is open. */
function notedHere(
  index: DueIndex,
  isPlaced: (instanceId: string) => boolean = () => true,
): Pick<DueIndex, 'opened' | 'closed'> {
  return {
    opened: (id) => index.opened(id),
    closed: async (id, close) => {
      if (isPlaced(id)) await index.closed(id, close);
      else await close();
    },
  };
}

/** Adds how the work of a server begins, and how everything ends. */
function withLife(
  data: Omit<DataDirectory, 'upgradeWarning' | 'start' | 'stop'>,
  {
    index,
    ...parts
  }: {
    readonly index: DueIndex | undefined;
    readonly clock: Clock;
    readonly logger: Logger;
  },
): DataDirectory {
  const { home, directory, instances, requests, fileSweeper, removals } = data;
  let work: DueWork | undefined;
  return {
    ...data,
    get upgradeWarning() {
      const left = directory.upgradesLeft;
      return left === 0 ? undefined : `Instances that this version has still to upgrade: ${left}.`;
    },
    start: async (delivering) => {
      instances.startSweeping();
      fileSweeper.start();
      removals.start();
      if (index !== undefined) work = await startDueWork({ ...data, ...parts, index }, delivering);
    },
    stop: async () => {
      await work?.stop();
      await removals.stop();
      await fileSweeper.stop();
      await directory.stop();
      await instances.stop();
      await requests.stop();
      await home.stop();
    },
  };
}

/** Opens the master key and the directory of instances, which the whole service shares. Closes `home` when either fails. */
async function openControl(
  home: DataHome,
  config: Config,
  clock: Clock,
): Promise<{ readonly masterKey: MasterKey; readonly directory: InstanceDirectory }> {
  try {
    await requireNoMove(home.control);
    const masterKey = await openMasterKey(home.control, {
      ...config.masterKey,
      dataDirectory: config.data,
    });
    const directory = await InstanceDirectory.open(home, clock);
    // Again: a move that found the database empty may have begun meanwhile.
    await requireNoMove(home.control);
    return { masterKey, directory };
  } catch (error) {
    await home.stop();
    throw error;
  }
}

/** Returns what borrows an instance by its id, unless it is suspended or deleted: then nothing is done in it that no request waits for. */
export function borrowFrom({
  directory,
  instances,
}: Pick<DataDirectory, 'directory' | 'instances'>): (id: string) => Promise<Loan | undefined> {
  return async (id) => {
    const entry = directory.find(id);
    return entry?.state === 'active' ? instances.borrow(entry) : undefined;
  };
}

/** Opens an instance for as long as the work takes. */
export async function onInstance<Result>(
  { instances }: Pick<DataDirectory, 'instances'>,
  entry: InstanceEntry,
  work: (instance: Instance) => Promise<Result>,
): Promise<Result> {
  const loan = await instances.borrow(entry);
  try {
    return await work(loan.instance);
  } finally {
    loan.release();
  }
}

/** As `borrowFrom`, for work that can be done later: where no place is free, it throws unavailable at once. */
export function borrowAtOnceFrom({
  directory,
  instances,
}: Pick<DataDirectory, 'directory' | 'instances'>): (id: string) => Promise<Loan | undefined> {
  return async (id) => {
    const entry = directory.find(id);
    return entry?.state === 'active' ? instances.borrowAtOnce(entry) : undefined;
  };
}

function checkSqlite(): void {
  const version = sqliteVersion();
  const difference =
    version.map((part, index) => part - (sqliteVersionMin[index] ?? 0)).find((part) => part !== 0) ?? 0;
  if (difference >= 0) return;
  throw new StartError(
    `SQLite ${version.join('.')} is too old: at least ${sqliteVersionMin.join('.')} is needed. Use a newer Node.js.`,
  );
}

async function openHome(
  { data, postgres, masterKey, queryTimeoutMs, upgradeCopiesMax }: Config,
  { logger, upgradeWait }: DataParts & { readonly logger: Logger },
): Promise<DataHome> {
  const onNotice = ({ message, members }: MigrationNotice): void => logger.warn(message, members);
  if (postgres === undefined) {
    checkSqlite();
    await prepareOrExplain(data);
    const onLoss = (loss: string): void => logger.error(loss);
    return openSqliteHome(data, { queryTimeoutMs, onLoss, upgradeCopiesMax, onNotice });
  }
  if (masterKey.text === undefined && masterKey.file === undefined) {
    throw new StartError(
      'With --postgres, set the master key by CHANCERY_KEY or --key-file, the same on every node.',
    );
  }
  // Imported on demand: most servers never need the driver.
  const { openPostgresHome } = await import('./storage/postgres/home.ts');
  const { url, allowUnsafe: isLossAllowed } = postgres;
  return openPostgresHome({ url, isLossAllowed, queryTimeoutMs }, { onNotice, upgradeWait });
}

async function prepareOrExplain(path: string): Promise<void> {
  try {
    await prepareDirectory(path);
  } catch (error) {
    throw new StartError(`The data directory ${path} cannot be written: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** Takes the data directory for this process; throws StartError when a server runs on it. */
export async function takeLock(directory: string): Promise<DataLock> {
  await prepareOrExplain(directory);
  const lock = lockOrExplain(directory);
  if (lock === undefined)
    throw new StartError(`Another server or a move is running on the data directory ${directory}.`);
  return lock;
}

function lockOrExplain(directory: string): DataLock | undefined {
  try {
    return lockDataDirectory(directory);
  } catch (error) {
    throw new StartError(`${join(directory, 'server.lock')} cannot be locked: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
