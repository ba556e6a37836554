import { codeOf } from '../../base/code-of.ts';
import { AppError, notFound } from '../../base/errors.ts';
import { Watch } from '../../base/watch.ts';
import { identifier, sql } from '../../sql/sql.ts';
import type { DataHome, Memory } from '../data-home.ts';
import type { Database, Transaction, WriteOptions } from '../database.ts';
import { migrate } from '../migrate.ts';
import { postgresMigrations } from '../migrations/postgres-migrations.ts';
import { openPostgresPool, type PostgresPool, type PostgresPoolOptions } from './postgres-pool.ts';
import { PostgresState } from './postgres-state.ts';
import { openPostgres } from './postgres.ts';

/** Reads may rest on definitions this much older than the newest; writes never do. */
const watchIntervalMs = 500;
/** For leases, hints and looks. */
const backgroundMax = 3;
/** Versions are drawn before their commit: one a little below the last that was seen may still appear. */
const versionsBack = 1_000;

/** One PostgreSQL database: shared internal tables in `chancery`, a schema for the collections of each instance. */
export async function openPostgresHome(options: PostgresPoolOptions): Promise<DataHome> {
  const pools: PostgresPool[] = [];
  try {
    const pool = await openPostgresPool(options);
    pools.push(pool);
    const background = await openPostgresPool({ ...options, max: backgroundMax });
    pools.push(background);
    return await homeOf(pool, background);
  } catch (error) {
    await Promise.all(pools.map((pool) => pool.stop()));
    throw explained(error, options.url);
  }
}

/** Who starts a server must be told what is wrong with its database; whoever asks one that runs, only that it is away. */
function explained(error: unknown, url: string): unknown {
  if (!(error instanceof AppError) || !(error.cause instanceof Error)) return error;
  // Several addresses that all refused have only a code in common.
  const reason = error.cause.message || codeOf(error.cause);
  // Of the URL only what is no secret.
  const host = URL.canParse(url) ? new URL(url).host : '';
  const place = host === '' ? '' : ` at ${host}`;
  return new AppError('unavailable', `PostgreSQL${place} cannot be used: ${reason}.`, { cause: error });
}

async function homeOf(pool: PostgresPool, backgroundPool: PostgresPool): Promise<DataHome> {
  const control = openPostgres({ pool, instanceId: '', schema: 'chancery' });
  const state = new PostgresState(pool);
  const background = openPostgres({
    pool: backgroundPool,
    instanceId: '',
    schema: 'chancery',
    aside: state,
  });
  await migrate(control, postgresMigrations);
  const opened = new Map<string, Opened>();
  let watch: Watch | undefined;
  return {
    control,
    background,
    // There is nothing that could be lost alone: the instance's schema is in the database that knows of the instance.
    makeInstance: () => Promise.resolve(() => Promise.resolve()),
    openInstance: (instanceId, memory) => openInstance({ pool, control, state, instanceId, memory, opened }),
    openLogs: (instanceId) =>
      Promise.resolve(
        openPostgres({
          pool,
          instanceId,
          schema: schemaOf(instanceId),
          // Changes of the instance's tables do not wait for logs, nor logs for them.
          lockName: `logs of ${instanceId}`,
          isLossAllowed: true,
          aside: state,
          writersMax: 1,
        }),
      ),
    refresh: async (instanceId) => {
      const known = opened.get(instanceId);
      if (known !== undefined && (await known.readVersion()) !== known.version) await known.refresh();
    },
    watch: (onError) => {
      const look = async (): Promise<void> => {
        for (const changed of await findChanged(background, opened)) changed.refresh().catch(onError);
      };
      watch = new Watch({ intervalMs: watchIntervalMs, look, onError });
    },
    isReachable: () => watch?.isWell ?? true,
    stop: async () => {
      await watch?.stop();
      state.stop();
      await Promise.all([control.stop(), background.stop()]);
      await Promise.all([pool.stop(), backgroundPool.stop()]);
    },
  };
}

function schemaOf(instanceId: string): string {
  return `i_${instanceId}`;
}

/** An open instance, and what this process's memory of it rests on. */
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
  readonly state: PostgresState;
  readonly instanceId: string;
  readonly memory: Memory;
  readonly opened: Map<string, Opened>;
}

async function openInstance({
  pool,
  control,
  state,
  instanceId,
  memory,
  opened,
}: Opening): Promise<Database> {
  const schema = schemaOf(instanceId);
  const select = sql`SELECT version FROM chancery.instance WHERE id = ${instanceId}`;
  const readVersion = async (): Promise<number> => Number((await control.tuples(select))[0]?.[0]);
  const own: Opened = {
    version: await readVersion(),
    changes: 0,
    readVersion,
    refresh: oneAfterAnother(async () => {
      for (;;) {
        const before = own.changes;
        // The version first: what changes after it was read is seen, at worst, twice.
        const version = await readVersion();
        // Of an instance that is gone nothing would ever be current.
        if (Number.isNaN(version)) throw notFound();
        const remember = await memory.read(database);
        // A change of our own that was committed meanwhile is in the memory, and may not be in what was read.
        if (own.changes !== before) continue;
        remember();
        own.version = version;
        return;
      }
    }),
  };
  const definitions = { version: select, known: () => own.version, refresh: own.refresh };
  const database = announcing(openPostgres({ pool, instanceId, schema, definitions, state }), {
    instanceId,
    onChange: () => {
      own.changes += 1;
      // Whoever saw the commit before its answer was here has read what the change now adds once more. One less than what was
      // read is never what the database has, so that the memory is read again.
      own.version -= 1;
    },
    onStop: () => {
      if (opened.get(instanceId) === own) opened.delete(instanceId);
    },
  });
  const makeSchema = sql`CREATE SCHEMA IF NOT EXISTS ${identifier(schema)}`;
  await control.write((tx) => tx.run(makeSchema), { isExclusive: true });
  opened.set(instanceId, own);
  return database;
}

/**
 * Of two that run at once the slower one could put old definitions into the memory that the faster one calls new. Whoever asks
 * while one runs gets the next, which all others who ask meanwhile share.
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

/** Takes the next version with every change of definitions, so that all nodes look again. */
function announcing(database: Database, { instanceId, onChange, onStop }: Announcing): Database {
  return {
    engine: database.engine,
    names: database.names,
    state: (asOfMs) => database.state(asOfMs),
    access: (statement, list) => database.access(statement, list),
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
 * One statement for all instances of the process, however many are open; with none it only asks whether anybody answers. On
 * connections that no request can take, or a busy service would seem to have lost its database.
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
