import type { Clock } from '../../base/clock.ts';
import { sql } from '../../sql/sql.ts';
import type { Database } from '../database.ts';

/**
 * The database's time, for times that several nodes compare: clocks of machines differ, and a delivery that one node schedules may be
 * sent by another. Between two looks it is advanced by the monotonic clock. The machine's clock may be set: if it jumped by an hour,
 * deliveries would be due an hour late, or sent an hour early, until the next look.
 */
export class DatabaseClock implements Clock {
  readonly #clock: Clock;
  readonly #isFixed: boolean;
  /** The database's time minus the monotonic time; before the first look, the machine's time minus the monotonic time. */
  #offsetMs: number;

  /** With `isFixed`, a test's clock replaces the database's. */
  constructor(clock: Clock, options: { readonly isFixed: boolean }) {
    this.#clock = clock;
    this.#isFixed = options.isFixed;
    this.#offsetMs = clock.now() - clock.monotonic();
  }

  now(): number {
    return Math.round(this.#isFixed ? this.#clock.now() : this.#clock.monotonic() + this.#offsetMs);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /**
   * Reads the database's time and makes the least correction that agrees with it: the answer was true at some moment of the round trip.
   * Assuming its middle would make this clock jump with each look, also backwards.
   */
  async look(database: Database): Promise<void> {
    if (this.#isFixed) return;
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
