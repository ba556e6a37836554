import { AppError } from '../base/errors.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Tuple } from './database.ts';
import { combineLookups, separateRows } from './postgres-combine.ts';

export interface LookupsOptions {
  readonly ask: (statement: Sql) => Promise<readonly Tuple[]>;
  readonly waitingMax: number;
}

interface Waiting {
  readonly statement: Sql;
  readonly resolve: (rows: readonly Tuple[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Those that wait for a row by the same text. */
interface Queue {
  waiting: Waiting[];
  running: number;
  isScheduled: boolean;
}

/** More would make the first of them wait for too many others. */
const togetherMax = 128;
/** While one is being answered the next is on its way; what comes meanwhile waits, and makes the next one larger. */
const runningMax = 2;

/**
 * Lookups of the same text that wait at the same time are one question: a row of an answer costs a fifth of a question of its own,
 * here and in the server.
 */
export class Lookups {
  readonly #options: LookupsOptions;
  readonly #queues = new Map<string, Queue>();
  #waiting = 0;
  #onIdle: (() => void)[] = [];

  constructor(options: LookupsOptions) {
    this.#options = options;
  }

  find(statement: Sql): Promise<readonly Tuple[]> {
    if (this.#waiting >= this.#options.waitingMax) {
      const error = new AppError('unavailable', 'The service is busy, try again.', { retryAfter: 1 });
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      const { text } = statement;
      const queue = this.#queues.get(text) ?? { waiting: [], running: 0, isScheduled: false };
      this.#queues.set(text, queue);
      queue.waiting.push({ statement, resolve, reject });
      this.#waiting += 1;
      this.#schedule(queue);
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    if (this.#queues.size === 0) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** At the end of this turn: what arrives in it joins. */
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
      const together = queue.waiting.splice(0, togetherMax);
      this.#waiting -= together.length;
      queue.running += 1;
      void this.#run(together).finally(() => {
        queue.running -= 1;
        this.#start(queue);
        this.#forget(queue, together[0]?.statement.text ?? '');
      });
    }
  }

  #forget({ waiting, running }: Queue, text: string): void {
    if (waiting.length > 0 || running > 0) return;
    this.#queues.delete(text);
    if (this.#queues.size === 0) for (const tell of this.#onIdle.splice(0)) tell();
  }

  async #run(together: readonly Waiting[]): Promise<void> {
    const statements = together.map(({ statement }) => statement);
    try {
      const rows = await (statements.length === 1 ? this.#one(statements) : this.#many(statements));
      for (const [index, { resolve }] of together.entries()) resolve(rows[index] ?? []);
    } catch (error) {
      // Together they may be too much to be held where none is by itself.
      if (together.length > 1 && error instanceof AppError && error.code === 'bad_request')
        for (const one of together) await this.#run([one]);
      else for (const { reject } of together) reject(error);
    }
  }

  async #one([statement]: readonly Sql[]): Promise<readonly (readonly Tuple[])[]> {
    return statement === undefined ? [] : [await this.#options.ask(statement)];
  }

  async #many(statements: readonly Sql[]): Promise<readonly (readonly Tuple[])[]> {
    return separateRows(
      statements.length,
      await this.#options.ask(combineLookups(statements, sql` LIMIT 1`)),
    );
  }
}
