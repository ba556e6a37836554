import { newId } from '../base/ids.ts';
import type { Instance } from '../instances/instance.ts';
import { sql, type Sql } from '../sql/sql.ts';
import { clockSlackMs, type Question, type WindowStore } from './window-store.ts';

/** Who waits longer goes on without an answer: far more than a busy database needs, and less than a client's patience. */
const waitMsDefault = 2_000;

/** Of one statement; the others are in the next. */
const rowsMax = 500;

/** Nobody gives back as much, unless the database is away: then windows stay as full as they are until they end. */
const returnsMax = 10_000;

/** Nodes that have not told that they live for as long put nothing by. */
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
 * The windows of one instance in the table that all nodes share. One statement at a time: what is asked meanwhile is in the next, so
 * that a flood of clients is no flood of statements. The table is unlogged, as counts are worth nothing after a crash; nothing of
 * it waits for a sync.
 */
export class PostgresWindowStore implements WindowStore {
  readonly id = newId();
  readonly #instance: Pick<Instance, 'id' | 'database' | 'dueClock' | 'sealer'>;
  readonly #waitMsMax: number;
  #asked: Asked[] = [];
  #returns: Return[] = [];
  /** What the statement that runs is to answer. */
  #inFlight: readonly Asked[] = [];
  #isWorking = false;
  /** The statement that runs has taken too long: until it ends nobody waits. */
  #isLate = false;

  constructor(
    instance: Pick<Instance, 'id' | 'database' | 'dueClock' | 'sealer'>,
    waitMsMax = waitMsDefault,
  ) {
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
    // What is asked in the same turn, as by the items of a batch, is one statement.
    queueMicrotask(() => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#asked.length > 0 || this.#returns.length > 0) {
      // First: what is asked for next may be just this.
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
      // Whoever is let in now asks the same database for what they came for, and is told what is wrong with it.
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

  /** By sealed keys, which tell nobody who reads the table whom they are of. A key that is asked for twice waits for its turn. */
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
    // Rows are locked in the order of their keys, by all statements of all nodes: no two ever wait for each other.
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
    // An upsert as above, in the same order of keys and by the same index. Of a window that was cleared away a row comes back that is over.
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

  /** By sealed keys. Of two windows of one key the second waits for its turn. */
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

/** As PostgreSQL reads it from text: numbers, and keys of letters, digits, `-` and `_`. */
function arrayOf(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`;
}
