import { AppError } from '../base/errors.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Tuple } from './database.ts';
import { combineLookups, keyOf, separateRows } from './postgres-combine.ts';

export interface LookupsOptions {
  readonly ask: (statement: Sql) => Promise<readonly Tuple[]>;
  readonly waitingMax: number;
}

interface Waiting {
  readonly statement: Sql;
  readonly resolve: (rows: readonly Tuple[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Those that wait for a row by statements that differ in their keys alone. */
interface Queue {
  readonly name: string;
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
 * here and in the server. Those for the same row are given the same one.
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
      const name = nameOf(statement);
      const queue = this.#queues.get(name) ?? { name, waiting: [], running: 0, isScheduled: false };
      this.#queues.set(name, queue);
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
        this.#forget(queue);
      });
    }
  }

  #forget({ name, waiting, running }: Queue): void {
    if (waiting.length > 0 || running > 0) return;
    this.#queues.delete(name);
    if (this.#queues.size === 0) for (const tell of this.#onIdle.splice(0)) tell();
  }

  async #run(together: readonly Waiting[]): Promise<void> {
    const byKey = Map.groupBy(together, ({ statement }) => keyOf(statement));
    const statements = [...byKey.values()].flatMap(([first]) => first?.statement ?? []);
    try {
      const rows = await this.#ask(statements);
      for (const [index, same] of [...byKey.values()].entries())
        for (const { resolve } of same) resolve(rows[index] ?? []);
    } catch (error) {
      // Together they may be too much to be held where none is by itself.
      if (statements.length > 1 && error instanceof AppError && error.code === 'bad_request')
        for (const same of byKey.values()) await this.#run(same);
      else for (const { reject } of together) reject(error);
    }
  }

  async #ask(statements: readonly Sql[]): Promise<readonly (readonly Tuple[])[]> {
    const [first, ...others] = statements;
    if (first === undefined) return [];
    if (others.length === 0) return [await this.#options.ask(first)];
    const rows = await this.#options.ask(combineLookups(statements, sql` LIMIT 1`));
    return separateRows(statements.length, rows);
  }
}

/** The same for statements that differ in their keys alone. */
function nameOf({ text, values }: Sql): string {
  if (values.length === 1) return text;
  return `${text} ${JSON.stringify(values.slice(0, -1).map(String))}`;
}
