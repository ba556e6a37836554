import type { Clock } from '../base/clock.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from './database.ts';

/**
 * The time of the database, for what several nodes compare: clocks of machines differ, and a delivery that one node makes due
 * another one sends. Between two looks the machine's own clock carries it on.
 */
export class DatabaseClock implements Clock {
  readonly #clock: Clock;
  readonly #isGiven: boolean;
  #offsetMs = 0;

  /** A clock that was `given`, by a test that moves it, stands for the database's own. */
  constructor(clock: Clock, options: { readonly isGiven: boolean }) {
    this.#clock = clock;
    this.#isGiven = options.isGiven;
  }

  now(): number {
    return Math.round(this.#clock.now() + this.#offsetMs);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /**
   * Takes the least change that agrees with the answer, which came at some moment of the way there and back: a clock that
   * jumped by half of that way with each look would put what follows before what was.
   */
  async look(database: Database): Promise<void> {
    if (this.#isGiven) return;
    const beforeMs = this.#clock.now();
    const [row] = await database.tuples(
      sql`SELECT extract(epoch FROM clock_timestamp())::double precision * 1000`,
    );
    const databaseMs = Number(row?.[0]);
    // The machine's clock gives whole milliseconds, and is up to one further.
    const least = databaseMs - (this.#clock.now() + 1);
    const most = databaseMs - beforeMs;
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most);
  }
}
