import { codeOf } from '../../base/process.ts';
import { AppError, notFound } from '../../base/errors.ts';
import { Poller } from '../../base/poller.ts';
import { newId } from '../../base/ids.ts';
import { identifier, sql } from '../../sql/sql.ts';
import type { DamageSearch, DataHome, Memory } from '../data-home.ts';
import type { Database, Transaction, WriteOptions } from '../database.ts';
import { faultOf, unavailableText } from '../engine-errors.ts';
import { migrate, type MigrateOptions, stepsNeeded } from '../migrate.ts';
import { StorageCounts } from '../storage-counts.ts';
import { type StorageFault, StorageHealth } from '../storage-health.ts';
import { postgresMigrations } from '../migrations/postgres-migrations.ts';
import { countChecksumFailures } from './count-checksum-failures.ts';
import { openPostgresPool, type PostgresPool, type PostgresPoolOptions } from './postgres-pool.ts';
import { openPostgres } from './postgres-database.ts';
import { migrateWithoutOlderNodes, requireNoOlderNodes, type UpgradeWait } from './wait-for-nodes.ts';
import { postgresNames } from './postgres-names.ts';
import { readPostgresSnapshot } from './read-postgres-snapshot.ts';
import { postgresFault } from './postgres-errors.ts';

/** The pages of the server are not searched: damage counts for so long after it was met. */
const damageMs = 60_000;

/** Reads may use definitions that are outdated by this much; writes never do. */
const watchIntervalMs = 500;
/** Connections for leases, wake-ups and polling. */
const backgroundMax = 3;
/** How far back versions are polled: they are drawn before their commit, so one below the newest seen may still appear. */
const versionsBack = 1_000;

export interface PostgresHomeOptions extends Pick<MigrateOptions, 'onNotice'> {
  /** Without it, nothing waits for older nodes. */
  readonly upgradeWait?: UpgradeWait | undefined;
}

const noWait: UpgradeWait = { maxMs: 0, onWait: () => Promise.resolve() };

/** One PostgreSQL database: shared internal tables in `chancery`, a schema for the collections of each instance. */
export async function openPostgresHome(
  options: PostgresPoolOptions,
  how: PostgresHomeOptions = {},
): Promise<DataHome> {
  const pools: PostgresPool[] = [];
  try {
    const pool = await openPostgresPool(options);
    pools.push(pool);
    const background = await openPostgresPool({ ...options, name: 'background', max: backgroundMax });
    pools.push(background);
    return await homeOf(pool, background, { ...how, pool: options });
  } catch (error) {
    await Promise.all(pools.map((pool) => pool.stop()));
    throw explained(error, options.url);
  }
}

/** Adds the reason to an error at start, for the operator. Clients of a running server only learn that it is unavailable. */
function explained(error: unknown, url: string): unknown {
  if (!(error instanceof AppError) || !(error.cause instanceof Error)) return error;
  // When a host has several addresses and all refuse, the error has a code but no message.
  const reason = error.cause.message || codeOf(error.cause);
  // Only the host: the URL may hold a password.
  const host = URL.canParse(url) ? new URL(url).host : '';
  const place = host === '' ? '' : ` at ${host}`;
  return new AppError('unavailable', `PostgreSQL${place} cannot be used: ${reason}.`, { cause: error });
}

async function homeOf(
  pool: PostgresPool,
  backgroundPool: PostgresPool,
  {
    upgradeWait = noWait,
    pool: poolOptions,
    ...how
  }: PostgresHomeOptions & { readonly pool: PostgresPoolOptions },
): Promise<DataHome> {
  const counts = new StorageCounts([pool.counts, backgroundPool.counts]);
  const health = new StorageHealth({ faultOf: faultIn, probe: () => probe(background), damageMs });
  const ofAll = { instanceId: '', schema: 'chancery', counts, onFailure: noteIn(health, '') };
  const control = openPostgres({ pool, ...ofAll });
  const background = openPostgres({ pool: backgroundPool, ...ofAll });
  const migrateNow = (): Promise<void> =>
    migrate(control, postgresMigrations, { ...how, requireAdmitted: requireNoOlderNodes });
  await migrateWithoutOlderNodes(control, migrateNow, upgradeWait);
  let isOutdated = false;
  const opened = new Map<string, Opened>();
  let watch: Poller | undefined;
  return {
    control,
    background,
    counts,
    // Nothing to create in advance: the data cannot be lost by itself, as it is in the database that lists the instance.
    makeInstance: (instanceId) => Promise.resolve(() => removeInstance(control, instanceId)),
    // Its tables are those of all.
    hasInstance: () => Promise.resolve(true),
    removeInstance: (instanceId) => removeInstance(control, instanceId),
    health,
    reserve: undefined,
    openDamageSearch: () => searchByChecksums(background),
    openInstance: (instanceId, memory) =>
      openInstance({ pool, control, counts, health, instanceId, memory, opened }),
    openLogs: (instanceId) => Promise.resolve(openLogs(pool, instanceId)),
    readAtOneMoment: (instanceId, work) =>
      readPostgresSnapshot({ ...poolOptions, names: postgresNames(schemaOf(instanceId), instanceId) }, work),
    refresh: async (instanceId) => {
      const instance = opened.get(instanceId);
      if (instance !== undefined && (await instance.readVersion()) !== instance.version)
        await instance.refresh();
    },
    watch: (onError) => {
      const look = async (): Promise<void> => {
        if (isOutdated) return;
        isOutdated = (await stepsNeeded(background)) > postgresMigrations.length;
        if (isOutdated) return refuseAll([pool, backgroundPool], onError);
        for (const changed of await findChanged(background, opened)) changed.refresh().catch(onError);
      };
      watch = new Poller({ intervalMs: watchIntervalMs, poll: look, onError });
    },
    get isOutdated() {
      return isOutdated;
    },
    fault: (instance) => (watch?.isWell === false ? 'unavailable' : health.faultFor(instance)),
    stop: async () => {
      await watch?.stop();
      await health.stop();
      await Promise.all([control.stop(), background.stop()]);
      await Promise.all([pool.stop(), backgroundPool.stop()]);
    },
  };
}

function openLogs(pool: PostgresPool, instanceId: string): Database {
  return openPostgres({
    pool,
    instanceId,
    schema: schemaOf(instanceId),
    // Changes of the instance's tables do not wait for logs, nor logs for them.
    lockName: `logs of ${instanceId}`,
    isLossAllowed: true,
    writersMax: 1,
  });
}

/** Files of records are on a disk here. */
function faultIn(error: unknown): StorageFault | undefined {
  return postgresFault(error) ?? faultOf(error);
}

function noteIn(health: StorageHealth, place: string): (error: unknown) => void {
  return (error) => health.note(place, error);
}

/** The server compares checksums whenever it reads a page. More is for its own tools: it alone reads its files. */
function searchByChecksums(database: Database): DamageSearch {
  let countBefore: number | undefined;
  return {
    find: async (place, { isWhole }) => {
      if (isWhole) return undefined;
      if (place !== '') return [];
      const count = (await countChecksumFailures(database)) ?? 0;
      const isMore = countBefore !== undefined && count > countBefore;
      countBefore = count;
      return isMore ? [`Pages with wrong checksums, as the server has counted: ${count}.`] : [];
    },
    stop: () => Promise.resolve(),
  };
}

/** From now on neither requests nor deliveries read or write anything: its tables mean what only newer versions know. */
function refuseAll(pools: readonly PostgresPool[], onError: (error: unknown) => void): void {
  const refusal = (): AppError =>
    new AppError('unavailable', unavailableText, { retryAfter: 1, explanation: outdatedText });
  for (const pool of pools) pool.refuse(refusal);
  onError(new AppError('unavailable', outdatedText));
}

const outdatedText =
  'A newer version has changed the tables so that this one can no longer use them: replace this process.';

/** Allocates a few hundred kilobytes on the server's disk, and frees them. */
async function probe(database: Database): Promise<void> {
  const table = sql`chancery.${identifier(`probe_${newId()}`)}`;
  await database.write(async (tx) => {
    await tx.run(sql`CREATE TABLE ${table} AS SELECT repeat('x', 1000) FROM generate_series(1, 300)`);
    await tx.run(sql`DROP TABLE ${table}`);
  });
}

/** Rows of an instance that one transaction deletes. */
const deletedTogetherMax = 5_000;

/** Removes the schema of an instance, and its rows in all shared tables but that of the instances. */
async function removeInstance(control: Database, instanceId: string): Promise<void> {
  const dropSchema = sql`DROP SCHEMA IF EXISTS ${identifier(schemaOf(instanceId))} CASCADE`;
  await control.write((tx) => tx.run(dropSchema), { isExclusive: true });
  // Partitions are tables of their own.
  const tables = await control.tuples(sql`
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'instance_id'
    WHERE c.relnamespace = 'chancery'::regnamespace AND c.relkind = 'r'`);
  for (const [name] of tables) {
    const table = sql`chancery.${identifier(String(name))}`;
    const deleteSome = sql`
      DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${table} WHERE instance_id = ${instanceId} LIMIT ${deletedTogetherMax}))`;
    while ((await control.write((tx) => tx.run(deleteSome))) === deletedTogetherMax);
  }
}

function schemaOf(instanceId: string): string {
  return `i_${instanceId}`;
}

/** An open instance, and the version of the definitions that this process has in memory. */
interface Opened {
  version: number;
  /** How often this process has changed definitions. */
  changes: number;
  readonly readVersion: () => Promise<number>;
  readonly refresh: () => Promise<void>;
}

interface Opening {
  readonly pool: PostgresPool;
  readonly control: Database;
  readonly counts: StorageCounts;
  readonly health: StorageHealth;
  readonly instanceId: string;
  readonly memory: Memory;
  readonly opened: Map<string, Opened>;
}

async function openInstance(opening: Opening): Promise<Database> {
  const { pool, control, counts, health, instanceId, memory, opened } = opening;
  const schema = schemaOf(instanceId);
  const select = sql`SELECT version FROM chancery.instance WHERE id = ${instanceId}`;
  const readVersion = async (): Promise<number> => Number((await control.tuples(select))[0]?.[0]);
  const onFailure = noteIn(health, instanceId);
  const makeSchema = sql`CREATE SCHEMA IF NOT EXISTS ${identifier(schema)}`;
  await control.write((tx) => tx.run(makeSchema), { isExclusive: true });
  const version = await readVersion();
  // It is being filled, and not in the directory yet: nobody else has its definitions.
  if (Number.isNaN(version)) return openPostgres({ pool, instanceId, schema, counts, onFailure });
  const instance: Opened = {
    version,
    changes: 0,
    readVersion,
    refresh: oneAfterAnother(async () => {
      for (;;) {
        const before = instance.changes;
        // The version is read first: at worst, a change that comes after it is read twice.
        const version = await readVersion();
        // The instance was deleted: no version would ever count as current.
        if (Number.isNaN(version)) throw notFound();
        const remember = await memory.read(database);
        // A write of this process that was committed meanwhile is in the memory, but perhaps not in what was read.
        if (instance.changes !== before) continue;
        remember();
        instance.version = version;
        return;
      }
    }),
  };
  const definitions = { version: select, versionInMemory: () => instance.version, refresh: instance.refresh };
  const database = announcing(openPostgres({ pool, instanceId, schema, definitions, counts, onFailure }), {
    instanceId,
    onChange: () => {
      instance.changes += 1;
      // A refresh may have seen the commit before its answer arrived here, and the change is then added to the memory twice. A version
      // below the one that was read never equals the database's, so that the memory is read again.
      instance.version -= 1;
    },
    onStop: () => {
      if (opened.get(instanceId) === instance) opened.delete(instanceId);
    },
  });
  opened.set(instanceId, instance);
  return database;
}

/**
 * Runs `work` one call after the other: of two concurrent refreshes, the slower could put old definitions under the newer version of
 * the faster. Calls that come while one runs share the next run.
 */
function oneAfterAnother(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const start = (): Promise<void> => {
    next = undefined;
    return (running = work());
  };
  return () => (next ??= running.then(start, start));
}

interface Announcing {
  readonly instanceId: string;
  /** Called when a change was committed and is in the memory. */
  readonly onChange: () => void;
  readonly onStop: () => void;
}

/** Gives the instance the next version with every exclusive work, so that all nodes read its definitions again. */
function announcing(database: Database, { instanceId, onChange, onStop }: Announcing): Database {
  return {
    engine: database.engine,
    names: database.names,
    state: () => database.state(),
    describeView: (draft) => database.describeView(draft),
    searchDraft: (statement) => database.searchDraft(statement),
    all: (statement) => database.all(statement),
    get: (statement) => database.get(statement),
    tuples: (statement) => database.tuples(statement),
    search: (statement, options) => database.search(statement, options),
    stop: () => {
      onStop();
      return database.stop();
    },
    write: <Result>(work: (tx: Transaction) => Promise<Result>, options: WriteOptions = {}) => {
      if (options.isExclusive !== true) return database.write(work, options);
      return database.write(async (tx) => {
        const result = await work(tx);
        tx.afterCommit(onChange);
        await tx.run(sql`
          UPDATE chancery.instance SET version = nextval('chancery.version') WHERE id = ${instanceId}`);
        return result;
      }, options);
    },
  };
}

/**
 * Finds the open instances whose definitions have changed, by one statement for all. With none open it only checks that the database
 * answers. It uses background connections: if requests held them all, a busy service would seem to have lost its database.
 */
async function findChanged(
  background: Database,
  opened: ReadonlyMap<string, Opened>,
): Promise<readonly Opened[]> {
  const newest = Math.max(...[...opened.values()].map(({ version }) => version));
  const rows = await background.tuples(
    opened.size === 0
      ? sql`SELECT 1`
      : sql`SELECT id, version FROM chancery.instance WHERE version > ${newest - versionsBack}`,
  );
  return rows.flatMap(([id, version]) => {
    const state = opened.get(String(id));
    return state === undefined || state.version === Number(version) ? [] : [state];
  });
}
