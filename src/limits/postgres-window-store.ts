import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { clockSlackMs, type CountedInstance, type Question, type WindowStore } from './window-store.ts';

/** A question that takes longer is late: far more than a busy database needs, and less than a client's patience. */
const waitMsDefault = 2_000;

/** Questions or returns in one statement; more go into the next. */
const rowsMax = 500;

/** More returns are dropped: so many gather only while the database is away. The windows then stay as full as they are. */
const returnsMax = 10_000;

/** A node without a sign of life for this long gets no part of the reserves. */
const nodeSeconds = 10;

interface Asked {
  readonly question: Question;
  readonly resolve: (outcome: 'answered' | 'late') => void;
}

interface Return {
  readonly key: string;
  readonly endMs: number;
  readonly count: number;
}

/**
 * The windows of one instance in the table that all nodes share. One statement runs at a time; questions asked meanwhile go into
 * the next, so that a flood of clients is not a flood of statements. The table is unlogged: no statement waits for a sync, and
 * counts are worthless after a crash anyway.
 */
export class PostgresWindowStore implements WindowStore {
  readonly id = newId();
  readonly #instance: CountedInstance;
  readonly #waitMsMax: number;
  #asked: Asked[] = [];
  #returns: Return[] = [];
  /** The questions of the statement that is running. */
  #inFlight: readonly Asked[] = [];
  #isWorking = false;
  /** True while the running statement has taken too long: until it ends, every question is late at once. */
  #isLate = false;

  constructor(instance: CountedInstance, waitMsMax = waitMsDefault) {
    this.#instance = instance;
    this.#waitMsMax = waitMsMax;
  }

  take(question: Question): Promise<'answered' | 'late'> {
    if (this.#isLate) return Promise.resolve('late');
    return new Promise((resolve) => {
      this.#asked.push({ question, resolve });
      this.#wake();
    });
  }

  giveBack(key: string, { endMs, count }: Omit<Return, 'key'>): void {
    if (this.#returns.length >= returnsMax) return;
    this.#returns.push({ key, endMs, count });
    this.#wake();
  }

  #wake(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    // A microtask later, so that questions of the same turn, such as those of a batch, share one statement.
    queueMicrotask(() => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#asked.length > 0 || this.#returns.length > 0) {
      // Returns go first: a question may ask for just what they free.
      if (this.#returns.length > 0) await this.#inTime(() => this.#sendReturns());
      if (this.#asked.length > 0) await this.#inTime(() => this.#sendQuestions());
    }
    this.#isWorking = false;
  }

  async #inTime(send: () => Promise<void>): Promise<void> {
    const timer = setTimeout(() => {
      this.#isLate = true;
      for (const { resolve } of [...this.#inFlight, ...this.#asked.splice(0)]) resolve('late');
    }, this.#waitMsMax);
    try {
      await send();
    } catch {
      // Requests that are let in now need the same database, and report what is wrong with it.
      for (const { resolve } of this.#inFlight) resolve('late');
    } finally {
      clearTimeout(timer);
      this.#inFlight = [];
      this.#isLate = false;
    }
  }

  async #sendQuestions(): Promise<void> {
    const batch = this.#nextBatch();
    this.#inFlight = [...batch.values()];
    const rows = await this.#instance.database.tuples(this.#take([...batch]));
    for (const [key, endMs, given, taken] of rows) {
      const asked = batch.get(String(key));
      asked?.question.answer({ endMs: Number(endMs), given: Number(given), taken: Number(taken) });
      asked?.resolve('answered');
    }
  }

  /** Takes the next questions, by keyed hashes, so that the table does not reveal whose keys they are. A repeated key waits. */
  #nextBatch(): Map<string, Asked> {
    const batch = new Map<string, Asked>();
    const left: Asked[] = [];
    for (const asked of this.#asked) {
      const key = this.#instance.sealer.fingerprint(asked.question.key);
      if (batch.size < rowsMax && !batch.has(key)) batch.set(key, asked);
      else left.push(asked);
    }
    this.#asked = left;
    return batch;
  }

  #take(batch: readonly (readonly [string, Asked])[]): Sql {
    const nowMs = this.#instance.dueClock.now();
    const wants = batch.map(([, { question }]) => question.want());
    const questions = batch.map(([, { question }]) => question);
    // All statements of all nodes lock rows in the order of their keys, so that no two can deadlock.
    return sql`
      INSERT INTO chancery.limit_window AS held (instance_id, key, ends, max, given, taken)
      SELECT ${this.#instance.id}, key, ${nowMs}::bigint + duration, max, least(max, wanted), least(max, wanted)
      FROM (
        SELECT key, duration, max, greatest(count, least(reserve, max / (4 * living))) AS wanted
        FROM unnest(${arrayOf(batch.map(([key]) => key))}::text[],
            ${arrayOf(questions.map(({ durationMs }) => durationMs))}::bigint[],
            ${arrayOf(questions.map(({ max }) => max))}::bigint[],
            ${arrayOf(wants.map(({ count }) => count))}::bigint[],
            ${arrayOf(wants.map(({ reserve }) => reserve))}::bigint[]) AS asked (key, duration, max, count, reserve),
          (SELECT greatest(1, count(*)) AS living FROM chancery.node
           WHERE seen > now() - make_interval(secs => ${nodeSeconds})) AS nodes
      ) AS question ORDER BY key COLLATE "C"
      ON CONFLICT (instance_id, key) DO UPDATE SET (ends, given, taken) = (
        SELECT CASE WHEN goes_on THEN held.ends ELSE EXCLUDED.ends END, fresh, CASE WHEN goes_on THEN held.taken ELSE 0 END + fresh
        FROM (SELECT goes_on,
            CASE WHEN goes_on THEN greatest(0, least(EXCLUDED.max - held.taken, EXCLUDED.given)) ELSE EXCLUDED.given END AS fresh
          FROM (SELECT held.ends > ${nowMs}::bigint AND held.ends <= EXCLUDED.ends + ${clockSlackMs}::bigint AS goes_on) AS state) AS next)
      RETURNING key, ends, given, taken`;
  }

  async #sendReturns(): Promise<void> {
    const returns = [...this.#nextReturns()];
    // An upsert as above, with the same order of keys and the same index. A window that was swept comes back as one that is over.
    await this.#instance.database.tuples(sql`
      INSERT INTO chancery.limit_window AS held (instance_id, key, ends, max, given, taken)
      SELECT ${this.#instance.id}, key, ends, 0, count, 0
      FROM unnest(${arrayOf(returns.map(([key]) => key))}::text[],
        ${arrayOf(returns.map(([, { endMs }]) => endMs))}::bigint[],
        ${arrayOf(returns.map(([, { count }]) => count))}::bigint[]) AS unused (key, ends, count)
      ORDER BY key COLLATE "C"
      ON CONFLICT (instance_id, key) DO UPDATE SET taken = greatest(0, held.taken - EXCLUDED.given)
      WHERE held.ends = EXCLUDED.ends`);
  }

  /** Takes the next returns, by keyed hashes. Returns to one window are summed; those to a second window of a key wait. */
  #nextReturns(): Map<string, Return> {
    const batch = new Map<string, Return>();
    const left: Return[] = [];
    for (const one of this.#returns) {
      const key = this.#instance.sealer.fingerprint(one.key);
      const other = batch.get(key);
      if (other === undefined && batch.size < rowsMax) batch.set(key, one);
      else if (other?.endMs === one.endMs) batch.set(key, { ...one, count: one.count + other.count });
      else left.push(one);
    }
    this.#returns = left;
    return batch;
  }
}

/** An array in PostgreSQL's text form. Needs no quoting: values are numbers, or keys of letters, digits, `-` and `_`. */
function arrayOf(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`;
}

const sweepLimits = {
  intervalMs: 30_000,
  /** Rows of one statement, and statements of one sweep: the next sweep deletes the rest. */
  rowsMax: 5_000,
  statementsMax: 40,
  /** Windows of all instances. Beyond this number, those that end first are deleted. */
  windowsMax: 1_000_000,
} as const;

export interface Sweeping {
  /** A database with connections of its own, which requests cannot use up. */
  readonly database: Database;
  /** The time by which windows end. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Deletes the shared windows that are over, now and then at an interval. */
export async function startSweeping({ database, clock, logger }: Sweeping): Promise<Poller> {
  const look = (): Promise<void> => sweepWindows(database, clock.now());
  const onError = (error: unknown): void =>
    logger.warn('What was counted in windows that are over could not be cleared away; trying again.', {
      error,
    });
  await look();
  return new Poller({ intervalMs: sweepLimits.intervalMs, poll: look, onError });
}

/** Sweeps once. All nodes do so without waiting for each other, as each skips the rows that another has locked. */
export async function sweepWindows(
  database: Database,
  nowMs: number,
  windowsMax: number = sweepLimits.windowsMax,
): Promise<void> {
  const [last] = await database.tuples(
    sql`SELECT ends FROM chancery.limit_window ORDER BY ends DESC OFFSET ${windowsMax} LIMIT 1`,
  );
  const endsMax = Math.max(nowMs, Number(last?.[0] ?? 0));
  for (let count = 0; count < sweepLimits.statementsMax; count += 1) {
    const gone = await database.tuples(sql`
      DELETE FROM chancery.limit_window WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM chancery.limit_window WHERE ends <= ${endsMax}
        ORDER BY ends LIMIT ${sweepLimits.rowsMax} FOR UPDATE SKIP LOCKED))
      RETURNING 1`);
    if (gone.length < sweepLimits.rowsMax) return;
  }
}
