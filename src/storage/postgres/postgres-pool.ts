import { Pool, type PoolClient } from 'pg';
import { assert } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { AppError, busy, stopping } from '../../base/errors.ts';
import { FairQueue } from '../../base/fair-queue.ts';
import { Histogram, secondsBounds } from '../../base/histogram.ts';
import type { PoolCounts } from '../storage-counts.ts';
import { PostgresConnection, valueTypes } from './postgres-connection.ts';
import { toPostgresError } from './postgres-errors.ts';

export interface PostgresPoolOptions {
  readonly url: string;
  /** What it is called where it is counted. */
  readonly name?: PoolCounts['name'];
  /** The most connections. Work that must not wait for requests has a pool of its own: `background` in data-home.ts. */
  readonly max?: number;
  /** More borrowers than this are refused at once. */
  readonly waitingMax?: number;
  /** The longest wait for a free connection, and for a new one to be established. */
  readonly connectTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
  /** The time-out of searches; by default that of all statements. */
  readonly queryTimeoutMs?: number;
  readonly transactionTimeoutMs?: number;
  /** Prepared statements per connection; 0 where a pooler in front of the server does not support them. */
  readonly statementsMax?: number;
  /** Accepts a server that may lose acknowledged writes (`fsync` or `synchronous_commit` off). */
  readonly isLossAllowed?: boolean;
}

/** A pool of connections to one database, shared by all instances. */
export interface PostgresPool {
  readonly counts: PoolCounts;
  readonly max: number;
  readonly statementTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly transactionTimeoutMs: number;
  /** Lends a connection to an instance, whose turn it is. Throws `unavailable` when none is free in time. */
  lend<Result>(use: (connection: PostgresConnection) => Promise<Result>, instance?: string): Promise<Result>;
  /** Lends nothing any more, and throws what this returns instead. */
  refuse(error: () => AppError): void;
  /** Waits for borrowed connections, then closes all. */
  stop(): Promise<void>;
}

/** Opens a pool and its first connection. Throws when the server is too old, or set up to lose acknowledged writes. */
export async function openPostgresPool(options: PostgresPoolOptions): Promise<PostgresPool> {
  const pool = new SessionPool(options);
  try {
    await pool.lend(() => Promise.resolve());
    return pool;
  } catch (error) {
    await pool.stop();
    throw error;
  }
}

/** Below the usual time-outs of clients; a list that takes longer lacks an index. */
const STATEMENT_TIMEOUT_MS = 10_000;
const TRANSACTION_TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;
/** Added to the server's time-outs: the server times out first and reports it. If no report arrives within this time, the network is at fault. */
export const GRACE_MS = 2_000;

/** The oldest version that the PostgreSQL project still maintains, as `server_version_num`. */
const serverVersionMin = 150_000;

/** All other encodings lack characters: a text with such a character, in a record or an attempt's result, could not be stored. */
const wholeEncodings: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII']);

class SessionPool implements PostgresPool {
  readonly counts: PoolCounts;
  readonly max: number;
  readonly statementTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly transactionTimeoutMs: number;
  readonly #pool: Pool;
  readonly #options: PostgresPoolOptions;
  readonly #turns: FairQueue;
  readonly #connections = new WeakMap<PoolClient, PostgresConnection>();
  #stopped: Promise<void> | undefined;
  #refusal: (() => AppError) | undefined;

  constructor(options: PostgresPoolOptions) {
    this.#options = options;
    this.counts = {
      name: options.name ?? 'requests',
      waitSeconds: new Histogram(secondsBounds),
      waiting: () => this.#turns.waiting,
      inUse: () => this.#pool.totalCount - this.#pool.idleCount,
    };
    this.max = options.max ?? 20;
    this.statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
    this.queryTimeoutMs = options.queryTimeoutMs ?? this.statementTimeoutMs;
    this.transactionTimeoutMs = options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS;
    const waitingMax = options.waitingMax ?? 10_000;
    this.#turns = new FairQueue({
      runningMax: this.max,
      waitingMax,
      waitingOfInstanceMax: waitingMax,
      waitingOfAddressMax: waitingMax,
      waitMsMax: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    });
    this.#pool = new Pool({
      connectionString: toPostgresUrl(options.url),
      max: this.max,
      connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
      application_name: 'chancery',
      pipeline: true,
      types: valueTypes,
    });
    // The pool drops an idle connection that is lost. The next borrower opens another, and gets the error if that fails.
    this.#pool.on('error', () => undefined);
    // A session can fail in the packet that begins it, before its borrower listens for errors: unhandled, that would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async lend<Result>(
    use: (connection: PostgresConnection) => Promise<Result>,
    instance = '',
  ): Promise<Result> {
    if (this.#stopped !== undefined) throw stopping();
    if (this.#refusal !== undefined) throw this.#refusal();
    const startMs = systemClock.monotonic();
    const lent = this.#turns.run({ instance, address: '' }, () => this.#lend(use, startMs));
    if (lent === undefined) throw busy();
    return await lent;
  }

  async #lend<Result>(
    use: (connection: PostgresConnection) => Promise<Result>,
    startMs: number,
  ): Promise<Result> {
    const client = await this.#borrow(startMs);
    let connection: PostgresConnection | undefined;
    try {
      connection = this.#connections.get(client) ?? (await this.#greet(client));
      return await use(connection);
    } finally {
      if (connection?.isReusable === true) {
        connection.forgetOldStatements();
        client.release();
      } else client.release(true);
    }
  }

  refuse(error: () => AppError): void {
    this.#refusal = error;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#pool.end();
    return this.#stopped;
  }

  async #borrow(startMs: number): Promise<PoolClient> {
    if (this.#stopped !== undefined) throw stopping();
    return await new Promise((resolve, reject) => {
      this.#pool.connect((error, client) => {
        this.counts.waitSeconds.noteMs(systemClock.monotonic() - startMs);
        if (client === undefined) reject(toPostgresError(error));
        else resolve(client);
      });
    });
  }

  /** Checks the server and sets the session's parameters, in one round trip. */
  async #greet(client: PoolClient): Promise<PostgresConnection> {
    const connection = new PostgresConnection(client, {
      statementsMax: this.#options.statementsMax ?? 128,
      timeoutMs: this.statementTimeoutMs,
    });
    const timer = connection.expireAfter(this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
    try {
      const { rows } = await connection.command(greeting(this.statementTimeoutMs, this.transactionTimeoutMs));
      // `command` returns arrays; the columns are those of `greeting`.
      const row = rows[0] as unknown as readonly string[];
      const [version, fsync, synchronousCommit, readOnly, encoding = ''] = row;
      if (Number(version) < serverVersionMin) {
        const major = Math.floor(Number(version) / 10_000);
        throw new AppError('unavailable', `PostgreSQL 15 or newer is needed, the server has ${major}.`);
      }
      if (this.#options.isLossAllowed !== true && (fsync === 'off' || synchronousCommit === 'off')) {
        const names = fsync === 'off' ? 'fsync' : 'synchronous_commit';
        throw new AppError('unavailable', `The server may lose acknowledged writes: ${names} is off.`);
      }
      if (readOnly === 'on') {
        throw new AppError('unavailable', 'The database is read-only.', { retryAfter: 5 });
      }
      if (!wholeEncodings.has(encoding)) {
        throw new AppError(
          'unavailable',
          `A database of the encoding UTF8 is needed, this one has ${encoding}.`,
        );
      }
      this.#connections.set(client, connection);
      return connection;
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Sets every parameter that our statements depend on, whatever the server, the database or the role is set to. With an empty
 * `search_path`, a name that is not qualified is an error and never another instance's table. `synchronous_commit` is set to the value
 * that was checked: otherwise the session would follow later changes of the server's configuration.
 */
function greeting(statementTimeoutMs: number, transactionTimeoutMs: number): string {
  assert(
    Number.isInteger(statementTimeoutMs) && Number.isInteger(transactionTimeoutMs),
    'a timeout is a whole number of milliseconds',
  );
  const settings = {
    search_path: '',
    // `commit` looks for warnings, whatever the role is set to.
    client_min_messages: 'warning',
    statement_timeout: statementTimeoutMs,
    // The statement time-out covers waits for locks; transactions that need a shorter one set it themselves.
    lock_timeout: 0,
    idle_in_transaction_session_timeout: transactionTimeoutMs,
    // The pool itself closes idle sessions: it could otherwise lend one that the server is just ending.
    idle_session_timeout: 0,
    default_transaction_isolation: 'read committed',
    standard_conforming_strings: 'on',
    bytea_output: 'hex',
    extra_float_digits: 1,
    // The JIT compiles a costly statement again for each run, which takes longer than most of our statements.
    jit: 'off',
    TimeZone: 'UTC',
  };
  const set = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  return `SELECT current_setting('server_version_num'), current_setting('fsync'), current_setting('synchronous_commit'),
    current_setting('transaction_read_only'), current_setting('server_encoding'), ${set.join(', ')},
    set_config('synchronous_commit', current_setting('synchronous_commit'), false),
    CASE WHEN current_setting('server_version_num')::integer >= 170000
      THEN set_config('transaction_timeout', '${transactionTimeoutMs}', false) END`;
}

export interface WriteGateOptions {
  /** Writers that may be inside at the same time. */
  readonly sharedMax: number;
  /** More waiting writers than this are refused at once. */
  readonly waitingMax: number;
  readonly waitMsMax: number;
}

interface QueuedWriter {
  readonly isExclusive: boolean;
  readonly enter: () => void;
  hasLeft: boolean;
}

/**
 * Admits one instance's writers in the order in which they came: several together, an exclusive one alone. It keeps an instance from
 * taking the whole pool, and keeps this process's other writers out during a change of tables, until its caches are up to date.
 */
export class WriteGate {
  readonly #options: WriteGateOptions;
  readonly #queue: QueuedWriter[] = [];
  /** The index at which the queue begins. Entries before it are done with; shifting them off would move a long array each time. */
  #head = 0;
  #waiting = 0;
  #inside = 0;
  #isExclusive = false;
  #onEmpty: (() => void)[] = [];

  constructor(options: WriteGateOptions) {
    this.#options = options;
  }

  /** Resolves when the writer is admitted, which then calls {@link leave} once. */
  enter(isExclusive: boolean): Promise<void> {
    if (this.#waiting >= this.#options.waitingMax) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.hasLeft = true;
        this.#waiting -= 1;
        reject(busy());
        this.#admit();
      }, this.#options.waitMsMax);
      const waiting: QueuedWriter = {
        isExclusive,
        hasLeft: false,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting += 1;
      this.#queue.push(waiting);
      this.#admit();
    });
  }

  leave(): void {
    this.#inside -= 1;
    this.#isExclusive = false;
    this.#admit();
    if (this.#inside > 0 || this.#waiting > 0) return;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  /** Resolves when no writer is inside and none waits. */
  async drain(): Promise<void> {
    if (this.#inside === 0 && this.#waiting === 0) return;
    await new Promise<void>((resolve) => this.#onEmpty.push(resolve));
  }

  #admit(): void {
    for (;;) {
      const next = this.#queue[this.#head];
      if (next === undefined) break;
      if (!next.hasLeft) {
        const roomFor = next.isExclusive ? 1 : this.#options.sharedMax;
        if (this.#isExclusive || this.#inside >= roomFor) return;
        this.#inside += 1;
        this.#waiting -= 1;
        this.#isExclusive = next.isExclusive;
        next.enter();
      }
      this.#head += 1;
    }
    this.#queue.length = 0;
    this.#head = 0;
  }
}

const modes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * Converts an operator's URL for `pg`. To `pg` every `sslmode` but `disable` and `no-verify` means `verify-full`, and it logs a warning
 * for each other name. Throws an AppError without any part of the URL, which may hold a password.
 */
export function toPostgresUrl(url: string): string {
  // The host may be empty if it is a parameter or a socket, which `URL` would refuse.
  if (!URL.canParse(url.replace('@/', '@host/'))) {
    const hint = 'in a password, characters such as / # ? are written as %2F %23 %3F';
    throw new AppError('unavailable', `The URL of PostgreSQL cannot be read: ${hint}.`);
  }
  const mode = /[?&]sslmode=([^&]*)/.exec(url)?.[1];
  if (mode === undefined || /[?&]uselibpqcompat=true(?:&|$)/.test(url)) return url;
  if (!modes.includes(mode))
    throw new AppError('unavailable', `The sslmode of PostgreSQL must be one of ${modes.join(', ')}.`);
  return url.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/, '$1verify-full');
}
