import type { Sql, SqlValue } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { isCollision, isStaleStatement } from './postgres-errors.ts';

/** What this process remembers of the tables, and how a write finds out that another process has changed them. */
export interface Definitions {
  /** Gives one value, read in every write, without a round trip of its own. */
  readonly version: Sql;
  /** The value on which what is remembered rests. */
  known(): SqlValue;
  /** Called when another value was read; the work is then run again. */
  refresh(): Promise<void>;
}

/** What became of one try of a work. */
export type Outcome<Result> =
  | { readonly kind: 'kept'; readonly value: Result; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'collided'; readonly error: unknown }
  | { readonly kind: 'needs_guards' }
  | { readonly kind: 'outdated' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** What goes out before the first statement, and what its answers say when the work is over. */
export class Opening {
  readonly #connection: PostgresConnection;
  readonly #definitions: Definitions | undefined;
  readonly #known: SqlValue | undefined;
  #answers: Promise<readonly Tuple[]> = Promise.resolve([]);

  constructor(connection: PostgresConnection, definitions: Definitions | undefined) {
    this.#connection = connection;
    this.#definitions = definitions;
    // Before the work looks at what is remembered: should that change meanwhile, the work is run again for nothing, at worst.
    this.#known = definitions?.known();
  }

  send(begin: string, lock?: Sql): void {
    const answers: Promise<readonly Tuple[]>[] = [this.#connection.command(begin).then(() => [])];
    if (lock !== undefined) answers.push(this.#connection.tuples(lock).then(() => []));
    // A statement of its own: the snapshot of one that waits for the lock is older than what it waits for.
    if (this.#definitions !== undefined)
      answers.push(this.#connection.tuples(this.#definitions.version).then(({ rows }) => rows));
    this.#answers = Promise.all(answers).then((rows) => rows.flat());
    // Looked at when the work is over; until then nobody listens.
    this.#answers.catch(() => undefined);
  }

  /** Of a work that has asked nothing: it was refused, or had nothing to do, by what is remembered alone. */
  async lookOnly(): Promise<Outcome<never> | undefined> {
    const definitions = this.#definitions;
    if (definitions === undefined) return undefined;
    this.#answers = this.#connection.tuples(definitions.version).then(({ rows }) => rows);
    return await this.obstacle();
  }

  async obstacle(): Promise<Outcome<never> | undefined> {
    try {
      const rows = await this.#answers;
      if (this.#definitions === undefined || rows[0]?.[0] === this.#known) return undefined;
      return { kind: 'outdated' };
    } catch (error) {
      return { kind: isCollision(error) || isStaleStatement(error) ? 'collided' : 'failed', error };
    }
  }
}
