import { AppError, busy } from '../../base/errors.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import { combineLookups, keyOf, separateRows } from './batched-statements.ts';
import type { ReadOptions } from './pooled-reads.ts';

export interface ReadBatchesOptions {
  readonly query: (statement: Sql, options: ReadOptions) => Promise<readonly Tuple[]>;
  readonly waitingMax: number;
}

interface QueuedRead {
  readonly statement: Sql;
  readonly resolve: (rows: readonly Tuple[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads that may be combined into one. */
interface Queue {
  readonly name: string;
  readonly options: ReadOptions;
  waiting: QueuedRead[];
  /** Combined reads that were sent less than {@link waitMsMax} ago and are not answered; limited to {@link runningMax}. */
  running: number;
  /** All combined reads that are not answered. */
  unanswered: number;
  isScheduled: boolean;
}

/** A larger batch would make its first read wait for too many others. */
const batchMax = 128;
/** While one batch is being answered the next is on its way; reads that arrive meanwhile wait, and make the next one larger. */
const runningMax = 2;
/** The longest that a read waits for the answer to another. */
const waitMsMax = 100;

/**
 * Combines reads that wait at the same time: lookups that differ only in their keys, because a further row costs a fifth of a query
 * of its own, here and in the server; and identical searches. Callers of the same read share one answer, no part of which is older
 * than their call.
 */
export class ReadBatches {
  readonly #options: ReadBatchesOptions;
  readonly #queues = new Map<string, Queue>();
  #waiting = 0;
  #onIdle: (() => void)[] = [];

  constructor(options: ReadBatchesOptions) {
    this.#options = options;
  }

  lookUp(statement: Sql, options: ReadOptions): Promise<readonly Tuple[]> {
    return this.#add(statement, statement.values.slice(0, -1), options);
  }

  search(statement: Sql, options: ReadOptions): Promise<readonly Tuple[]> {
    return this.#add(statement, statement.values, options);
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    if (this.#queues.size === 0) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** `same` are the values that reads must share to be combined. */
  #add(statement: Sql, same: Sql['values'], options: ReadOptions): Promise<readonly Tuple[]> {
    if (this.#waiting >= this.#options.waitingMax) {
      return Promise.reject(busy());
    }
    return new Promise((resolve, reject) => {
      const name = nameOf(statement, same, options);
      const queue = this.#queues.get(name) ?? {
        name,
        options,
        waiting: [],
        running: 0,
        unanswered: 0,
        isScheduled: false,
      };
      this.#queues.set(name, queue);
      queue.waiting.push({ statement, resolve, reject });
      this.#waiting += 1;
      this.#schedule(queue);
    });
  }

  /** Starts at the end of this turn, so that questions which arrive in it join. */
  #schedule(queue: Queue): void {
    if (queue.isScheduled || queue.running >= runningMax) return;
    queue.isScheduled = true;
    setImmediate(() => {
      queue.isScheduled = false;
      this.#start(queue);
    });
  }

  #start(queue: Queue): void {
    while (queue.waiting.length > 0 && queue.running < runningMax) {
      const batch = queue.waiting.splice(0, batchMax);
      this.#waiting -= batch.length;
      void this.#runBatch(queue, batch);
    }
  }

  async #runBatch(queue: Queue, batch: readonly QueuedRead[]): Promise<void> {
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMsMax);
    queue.running += 1;
    queue.unanswered += 1;
    const answered = this.#run(batch, queue.options).finally(resolve);
    await waited;
    clearTimeout(timer);
    queue.running -= 1;
    this.#start(queue);
    await answered;
    queue.unanswered -= 1;
    this.#forget(queue);
  }

  #forget({ name, waiting, unanswered }: Queue): void {
    if (waiting.length === 0 && unanswered === 0) this.#queues.delete(name);
    if (this.#queues.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  async #run(batch: readonly QueuedRead[], options: ReadOptions): Promise<void> {
    const byKey = Map.groupBy(batch, ({ statement }) => keyOf(statement));
    const statements = [...byKey.values()].flatMap(([first]) => first?.statement ?? []);
    try {
      const rows = await this.#query(statements, options);
      for (const [index, same] of [...byKey.values()].entries())
        for (const { resolve } of same) resolve(rows[index] ?? []);
    } catch (error) {
      // The combined answer may be too large to hold although no single one is.
      if (statements.length > 1 && error instanceof AppError && error.code === 'bad_request')
        for (const same of byKey.values()) await this.#run(same, options);
      else for (const { reject } of batch) reject(error);
    }
  }

  async #query(statements: readonly Sql[], options: ReadOptions): Promise<readonly (readonly Tuple[])[]> {
    const [first, ...others] = statements;
    if (first === undefined) return [];
    if (others.length === 0) return [await this.#options.query(first, options)];
    const rows = await this.#options.query(combineLookups(statements, sql` LIMIT 1`), options);
    return separateRows(statements.length, rows);
  }
}

/** The key of a queue. Texts are quoted and other values prefixed with their type, so that different lists of values never collide. */
function nameOf(
  { text }: Sql,
  same: Sql['values'],
  { timeoutMs, definitionsVersion: version, bytesMax }: ReadOptions,
): string {
  const keys = same.map((value) =>
    typeof value === 'string' ? JSON.stringify(value) : `${typeof value} ${String(value)}`,
  );
  return `${timeoutMs} ${bytesMax ?? ''} ${String(version)} ${keys.join(',')} ${text}`;
}
