import type { Clock } from '../../base/clock.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';

/**
 * The time of the database, for what several nodes compare: clocks of machines differ, and a delivery that one node makes due
 * another one sends. Between two looks the time that has passed carries it on, and not the machine's clock, which may be set:
 * until the next look what is written here would be due an hour late, or what is due in an hour would be sent.
 */
export class DatabaseClock implements Clock {
  readonly #clock: Clock;
  readonly #isGiven: boolean;
  /** From the monotonic time to that of the database; before the first look, to that of the machine. */
  #offsetMs: number;

  /** A clock that was `given`, by a test that moves it, stands for the database's own. */
  constructor(clock: Clock, options: { readonly isGiven: boolean }) {
    this.#clock = clock;
    this.#isGiven = options.isGiven;
    this.#offsetMs = clock.now() - clock.monotonic();
  }

  now(): number {
    return Math.round(this.#isGiven ? this.#clock.now() : this.#clock.monotonic() + this.#offsetMs);
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
    const beforeMs = this.#clock.monotonic();
    const [row] = await database.tuples(
      sql`SELECT extract(epoch FROM clock_timestamp())::double precision * 1000`,
    );
    const databaseMs = Number(row?.[0]);
    const least = databaseMs - this.#clock.monotonic();
    const most = databaseMs - beforeMs;
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most);
  }
}
