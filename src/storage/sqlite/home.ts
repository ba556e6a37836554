import { existsSync } from 'node:fs';
import { access, constants, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { sql } from '../../sql/sql.ts';
import { Poller } from '../../base/poller.ts';
import { codeOf, syncDirectory } from '../../base/process.ts';
import type { DataHome, OpeningChecks } from '../data-home.ts';
import { EngineFailure, faultOf, unavailableSeconds, unavailableText } from '../engine-errors.ts';
import { migrate, type MigrateOptions, type Migration, type MigrationNotice } from '../migrate.ts';
import { StorageCounts } from '../storage-counts.ts';
import { probeFolder } from '../probe-folder.ts';
import { type StorageFault, StorageHealth } from '../storage-health.ts';
import { controlMigrations } from '../migrations/control-migrations.ts';
import { instanceMigrations } from '../migrations/instance-migrations.ts';
import { logMigrations } from '../migrations/log-migrations.ts';
import { DiskReserve } from './disk-reserve.ts';
import { LogMark } from './log-mark.ts';
import { PageSearch } from './page-search.ts';
import { ReaderPool, type ReaderPoolOptions } from './reader-pool.ts';
import { writingRefusal } from './sqlite-connection.ts';
import { openSqlite, type SqliteFile, type SqliteOptions } from './sqlite-database.ts';
import { SqliteDefinitions } from './sqlite-definitions.ts';
import { readSqliteSnapshot } from './read-sqlite-snapshot.ts';
import { ViewProcess } from './view-process.ts';
import { WriterThreads } from './writer-thread.ts';
import { UpgradeCopies, type UpgradeCopyOptions } from './upgrade-copies.ts';

/** Reads may use definitions that are outdated by this much when a command has changed them; writes never do. */
const watchIntervalMs = 250;

/** How much of its log a file may lose without a word, if the log is removed after a crash. */
const markIntervalMs = 1_000;

/** Each has a Node of its own. No instance can have all of them. */
const viewProcesses: ReaderPoolOptions = {
  name: 'views',
  threads: 4,
  threadsOfFile: 2,
  startThread: () => new ViewProcess(),
};

export interface SqliteHomeOptions {
  readonly queryTimeoutMs: number;
  /** Called with a warning for the operator when acknowledged changes are missing. */
  readonly onLoss: (loss: string) => void;
  /** How many copies of each file are kept that an upgrade changes. */
  readonly upgradeCopiesMax: UpgradeCopyOptions['copiesMax'];
  readonly onNotice: NonNullable<MigrateOptions['onNotice']>;
  /** The steps of the tables of instances: those of this version unless given. */
  readonly instanceSteps?: readonly Migration[];
}

const stepCounts = { control: controlMigrations.length, instance: instanceMigrations.length };

/** A directory: `control.db`, and for each instance `instances/<id>/data.db` and `logs.db` beside it. */
export async function openSqliteHome(directory: string, options: SqliteHomeOptions): Promise<DataHome> {
  const { queryTimeoutMs, onLoss, onNotice, instanceSteps: migrations = instanceMigrations } = options;
  const copies = new UpgradeCopies({ copiesMax: options.upgradeCopiesMax, steps: stepCounts });
  const readers = new ReaderPool();
  const viewReaders = new ReaderPool(viewProcesses);
  const writers = new WriterThreads();
  const searched = { queryTimeoutMs, readers };
  const counts = new StorageCounts([readers.counts, viewReaders.counts]);
  const altered = { ...searched, viewReaders, writers, counts, copies };
  const health = new StorageHealth({ faultOf, probe: () => probeFolder(directory) });
  const ofControl = { counts, copies, checks: { onLoss }, ...watching(health, '') };
  const { database: control, mark } = await openControl(directory, ofControl);
  const folderOf = (instanceId: string): string => join(directory, 'instances', instanceId);
  const dataPath = (instanceId: string): string => join(folderOf(instanceId), 'data.db');
  const opened = new Map<string, Opened>();
  const reserve = new DiskReserve(directory, (id) => opened.get(id)?.database.foldLog());
  let watches: readonly Poller[] = [];
  return {
    control,
    background: control,
    counts,
    health,
    reserve,
    openDamageSearch: () =>
      new PageSearch((place) => (place === '' ? join(directory, 'control.db') : dataPath(place))),
    makeInstance: (instanceId) => makeInstance(folderOf(instanceId), migrations),
    hasInstance: (instanceId) => Promise.resolve(existsSync(dataPath(instanceId))),
    removeInstance: (instanceId) => rm(folderOf(instanceId), { recursive: true, force: true }),
    openInstance: async (instanceId, memory, checks) => {
      const path = dataPath(instanceId);
      await requireFile(path);
      const definitions = new SqliteDefinitions(memory);
      const ofInstance = ({ message, members }: MigrationNotice): void =>
        onNotice({ message, members: { instance: instanceId, ...members } });
      const how = { ...altered, ...watching(health, instanceId), definitions, checks };
      const file = await openFile({ path, ...how, onNotice: ofInstance, migrations });
      opened.set(instanceId, { ...file, definitions });
      return file.database;
    },
    // NORMAL does not sync the write-ahead log with each commit: log entries may be lost.
    openLogs: async (instanceId) => {
      const path = join(folderOf(instanceId), 'logs.db');
      const file = await openFile({ path, ...searched, migrations: logMigrations, synchronous: 'NORMAL' });
      return file.database;
    },
    readAtOneMoment: async (instanceId, work) => {
      await requireFile(dataPath(instanceId));
      const logs = join(folderOf(instanceId), 'logs.db');
      return readSqliteSnapshot({ data: dataPath(instanceId), logs }, work);
    },
    watch: (onError) => {
      watches = watchFiles({ database: control, mark }, opened, onError);
    },
    // No other process changes the schema: this process has locked the directory.
    isOutdated: false,
    fault: (instance) => refusedFault(directory) ?? health.faultFor(instance),
    refresh: async (instanceId) => {
      const instance = opened.get(instanceId);
      await instance?.definitions.refresh(instance.database);
    },
    stop: async () => {
      for (const watch of watches) await watch.stop();
      await health.stop();
      await reserve.stop();
      await control.stop();
      for (const pool of [readers, viewReaders]) await pool.stop();
      await writers.stop();
    },
  };
}

function watchFiles(
  control: OpenFile,
  opened: Map<string, Opened>,
  onError: (error: unknown) => void,
): readonly Poller[] {
  // Of thousands of open instances, commands have a few open.
  const look = async (): Promise<void> => {
    const rows = await control.database.tuples(sql`SELECT DISTINCT instance FROM "$command"`);
    for (const [instanceId] of rows) {
      const { definitions, database } = opened.get(String(instanceId)) ?? {};
      if (definitions !== undefined && database !== undefined) await definitions.refresh(database);
    }
  };
  const writeMarks = async (): Promise<void> => {
    await control.mark.update(() => control.database.logState());
    for (const [instanceId, file] of opened)
      if (file.definitions.hasEnded) opened.delete(instanceId);
      else await file.mark.update(() => file.database.logState());
  };
  return [
    new Poller({ intervalMs: watchIntervalMs, poll: look, onError }),
    // A mark is optional. Other errors report why it cannot be written.
    new Poller({ intervalMs: markIntervalMs, poll: writeMarks, onError: () => undefined }),
  ];
}

/** A file system that has become read-only is known before anything fails: nothing may be written for long. */
function refusedFault(directory: string): StorageFault | undefined {
  return writingRefusal(directory) === undefined ? undefined : 'disk';
}

/** How failures of a file are reported, those at its opening included, and how it is probed again. */
function watching(
  health: StorageHealth,
  place: string,
): Required<Pick<FileOptions, 'onFailure' | 'onOpened'>> {
  return {
    onFailure: (error) => health.note(place, error),
    onOpened: (file) => health.addProbe(place, () => file.probe()),
  };
}

async function makeInstance(folder: string, migrations: readonly Migration[]): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { database } = await openFile({ path: join(folder, 'data.db'), migrations });
  await database.stop();
  await syncDirectory(dirname(folder));
  return () => rm(folder, { recursive: true });
}

interface OpenFile {
  readonly database: SqliteFile;
  readonly mark: LogMark;
}

interface Opened extends OpenFile {
  readonly definitions: SqliteDefinitions;
}

/** Creates the directory if it does not exist; throws when it is not writable. */
export async function prepareDirectory(path: string): Promise<void> {
  await makeDirectory(join(path, 'instances'));
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  await access(join(path, 'instances'), constants.W_OK);
}

/** Node's own recursive `mkdir` never ends where the system refuses a directory with ENOENT, as below `/proc`. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    // Closed to other users of the machine: it holds all records.
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const isThere = codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory();
    if (!isThere) throw error;
  }
}

async function openControl(
  directory: string,
  options: Omit<FileOptions, 'path' | 'migrations'> & { readonly copies: UpgradeCopies },
): Promise<OpenFile> {
  const path = join(directory, 'control.db');
  // Checked in this order: another process that is creating the directory creates control.db before any instance.
  if ((await readdir(join(directory, 'instances'))).length > 0) await requireFile(path);
  const file = await openFile({ path, migrations: controlMigrations, ...options });
  try {
    await options.copies.beginUpgrade(file.database);
    return file;
  } catch (error) {
    await file.database.stop();
    throw error;
  }
}

/** Throws when a file that must hold data is missing or empty: SQLite would create a new one, without all that was acknowledged. */
async function requireFile(path: string): Promise<void> {
  if (!(await isMissing(path))) return;
  const reason = 'it is missing or empty, and no other is made in its place: restore it from a backup';
  const cause = new Error(reason);
  throw new UnopenedFile(path, new AppError('unavailable', 'The service is not available.', { cause }));
}

async function isMissing(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size === 0;
  } catch (error) {
    return codeOf(error) === 'ENOENT';
  }
}

interface FileOptions extends SqliteOptions, Pick<MigrateOptions, 'onNotice'> {
  readonly migrations: readonly Migration[];
  /** Left out for a file of which no copy is kept. */
  readonly copies?: UpgradeCopies;
  /** Left out for a file that may lose changes. */
  readonly checks?: Partial<OpeningChecks> | undefined;
  /** Called when the file is open; the function that it returns is called when it is closed. */
  readonly onOpened?: (file: SqliteFile) => () => void;
}

async function openFile(options: FileOptions): Promise<OpenFile> {
  try {
    return await openMigrated(options);
  } catch (error) {
    options.onFailure?.(error);
    const isExplained = !(error instanceof AppError) || error.explanation !== undefined;
    throw isExplained ? error : new UnopenedFile(options.path, error);
  }
}

async function openMigrated(how: FileOptions): Promise<OpenFile> {
  const { migrations, copies, checks, onNotice, onOpened, ...options } = how;
  const mark = new LogMark(options.path);
  let onStopped: (() => void) | undefined;
  const database = openSqlite({ ...options, onStopped: () => onStopped?.() });
  try {
    const loss = checks?.onLoss === undefined ? undefined : mark.findLoss(database.logState());
    if (loss !== undefined) checks?.onLoss?.(loss);
    await migrate(database, migrations, {
      beforeUpgrade: (steps) => copies?.copy(options.path, steps) ?? Promise.resolve(),
      ...(onNotice !== undefined && { onNotice }),
    });
    await checks?.requireOwn?.(database);
    // Only now: a migration creates the table that holds the version of the definitions.
    options.definitions?.start();
    onStopped = onOpened?.(database);
    return { database, mark };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** A data file cannot be opened. The client learns only that the service is unavailable, the operator which file it is and why. */
class UnopenedFile extends AppError {
  override readonly explanation: string;

  constructor(path: string, error: AppError) {
    // An EngineFailure may say `outcome_unknown`, which is wrong here: nothing was begun.
    const isBroken = error instanceof EngineFailure;
    const message = isBroken ? unavailableText : error.message;
    super(isBroken ? 'unavailable' : error.code, message, {
      cause: error,
      retryAfter: error.retryAfter ?? unavailableSeconds,
    });
    this.name = 'UnopenedFile';
    this.explanation = `${path} cannot be opened: ${reasonOf(error)}`;
  }
}

/** The engine's own message, where it is more precise than ours. */
function reasonOf(error: AppError): string {
  const { cause, code } = error;
  return cause instanceof Error && code !== 'storage_full' ? `${cause.message}.` : error.message;
}
