import type { Sql, SqlValue } from '../../sql/sql.ts';
import type { Tuple } from '../database.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { isCollision, isStaleStatement } from './postgres-errors.ts';

/** How a write finds out that another process has changed the definitions that this process has in memory. */
export interface Definitions {
  /** A SELECT of one value, which every write runs without a round trip of its own. */
  readonly version: Sql;
  /** The version of the definitions in memory. */
  known(): SqlValue;
  /** Reads the definitions again. Called when another version was found; the work is then run again. */
  refresh(): Promise<void>;
}

/** The result of running a work once. */
export type Outcome<Result> =
  | { readonly kind: 'kept'; readonly value: Result; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'collided'; readonly error: unknown }
  | { readonly kind: 'needs_guards' }
  | { readonly kind: 'outdated' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The statements that are sent before a work's first one, and the check of their answers when the work is over. */
export class Opening {
  readonly #connection: PostgresConnection;
  readonly #definitions: Definitions | undefined;
  readonly #known: SqlValue | undefined;
  #answers: Promise<readonly Tuple[]> = Promise.resolve([]);

  constructor(connection: PostgresConnection, definitions: Definitions | undefined) {
    this.#connection = connection;
    this.#definitions = definitions;
    // Read before the work uses the memory: if that is refreshed meanwhile, the work is at worst run again needlessly.
    this.#known = definitions?.known();
  }

  send(begin: string, lock?: Sql): void {
    const answers: Promise<readonly Tuple[]>[] = [this.#connection.command(begin).then(() => [])];
    if (lock !== undefined) answers.push(this.#connection.tuples(lock).then(() => []));
    // Not one statement with the lock: its snapshot would be taken before the wait, and miss what the lock's holder commits.
    if (this.#definitions !== undefined)
      answers.push(this.#connection.tuples(this.#definitions.version).then(({ rows }) => rows));
    this.#answers = Promise.all(answers).then((rows) => rows.flat());
    // `obstacle` handles the rejection when the work is over; until then it must not count as unhandled.
    this.#answers.catch(() => undefined);
  }

  /** As {@link obstacle}, for a work that ran no statement: it decided by the definitions in memory alone. */
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
