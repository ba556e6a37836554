import { type Clock, systemClock } from '../base/clock.ts';
import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { LongTurn } from '../base/turn-meter.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Reader } from '../storage/database.ts';

/** What a process has written about its long turns of the last hour. */
export interface LongTurnReport {
  /** The node of PostgreSQL; empty for the one server of a data directory. */
  readonly node: string;
  /** When it was written. */
  readonly updated: string;
  /** The instances with most of them, those first. */
  readonly instances: readonly LongTurnsOf[];
  /** The slugs of the instances that are run apart from the others. */
  readonly apart: readonly string[];
}

export interface LongTurnsOf {
  readonly slug: string;
  readonly count: number;
  /** The longest, in milliseconds of the processor, and what the instance was asked for. */
  readonly longestMs: number;
  readonly route: string;
}

/** The setting of the whole service; that of a node ends in a space and its id. */
const settingName = 'long_turns';
const hourMs = 3_600_000;
const writeMs = 60_000;
/** A report of a node that has ended is removed after this. */
const staleMs = 24 * hourMs;
const instancesMax = 10;
/** Instances that are counted; of more, those with the fewest are forgotten. */
const countedMax = 1_000;

export interface LongTurnRecordOptions {
  readonly control: Database;
  readonly directory: Pick<InstanceDirectory, 'find'>;
  readonly node?: string | undefined;
  /** The ids of the instances that are run apart. */
  readonly apart?: () => readonly string[];
  readonly clock?: Clock;
  readonly logger: Logger;
}

interface Counted {
  /** When each was, by a clock that never goes back. */
  times: number[];
  longest: LongTurn;
}

/** Counts long turns by instance, and writes once a minute where an operator finds it (`doctor`, `nodes`), if there is anything new. */
export class LongTurnRecord {
  readonly #options: LongTurnRecordOptions;
  readonly #clock: Clock;
  readonly #counted = new Map<string, Counted>();
  #written = '';
  #poller: Poller | undefined;

  constructor(options: LongTurnRecordOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  note(turn: LongTurn): void {
    const before = this.#counted.get(turn.instance);
    if (before === undefined && this.#counted.size >= countedMax) this.#forgetFewest();
    const { times, longest } = before ?? { times: [], longest: turn };
    times.push(this.#clock.monotonic());
    this.#counted.set(turn.instance, { times, longest: turn.ms > longest.ms ? turn : longest });
  }

  /** Begins to write. */
  start(): void {
    this.#poller = new Poller({
      intervalMs: writeMs,
      poll: () => this.write(),
      onError: (error) => this.#options.logger.warn('Long turns could not be recorded.', { error }),
    });
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  async write(): Promise<void> {
    const { control, node } = this.#options;
    const instances = this.#latest();
    const apart = (this.#options.apart?.() ?? []).map((id) => this.#slugOf(id));
    const content = JSON.stringify({ instances, apart });
    if (content === this.#written || (this.#written === '' && instances.length === 0 && apart.length === 0))
      return;
    const report = { updated: toTimestamp(this.#clock.now()), instances, apart };
    const name = node === undefined ? settingName : `${settingName} ${node}`;
    const stale = (await readReports(control)).filter(
      ({ updated }) => Date.parse(updated) < this.#clock.now() - staleMs,
    );
    await control.write(async (tx) => {
      const setting = tx.names.table('$setting');
      await tx.run(sql`
        INSERT INTO ${setting} (name, value) VALUES (${name}, ${JSON.stringify(report)})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
      for (const other of stale)
        if (other.node !== (node ?? ''))
          await tx.run(sql`DELETE FROM ${setting} WHERE name = ${`${settingName} ${other.node}`}`);
    });
    this.#written = content;
  }

  #latest(): readonly LongTurnsOf[] {
    const sinceMs = this.#clock.monotonic() - hourMs;
    for (const [id, counted] of this.#counted) {
      counted.times = counted.times.filter((at) => at > sinceMs);
      if (counted.times.length === 0) this.#counted.delete(id);
    }
    return [...this.#counted]
      .map(([id, { times, longest }]) => ({
        slug: this.#slugOf(id),
        count: times.length,
        longestMs: Math.round(longest.ms),
        route: longest.route,
      }))
      .toSorted((one, other) => other.count - one.count)
      .slice(0, instancesMax);
  }

  #slugOf(id: string): string {
    return this.#options.directory.find(id)?.slug ?? id;
  }

  #forgetFewest(): void {
    const [fewest] = [...this.#counted].toSorted(
      ([, one], [, other]) => one.times.length - other.times.length,
    );
    if (fewest !== undefined) this.#counted.delete(fewest[0]);
  }
}

/** Reads what the processes of a service have written about their long turns. A report may be of one that has ended since. */
export async function readReports(control: Reader): Promise<readonly LongTurnReport[]> {
  const rows = await control.tuples(sql`
    SELECT name, value FROM ${control.names.table('$setting')}
    WHERE name = ${settingName} OR name LIKE ${`${settingName} %`} ORDER BY name`);
  return rows.flatMap(([name, value]): readonly LongTurnReport[] => {
    const report: unknown = JSON.parse(String(value));
    if (!isJsonObject(report)) return [];
    const node = String(name).slice(settingName.length + 1);
    // Only `write` above writes these settings.
    return [{ node, ...(report as unknown as Omit<LongTurnReport, 'node'>) }];
  });
}

/** Returns a sentence for each instance of a report, and one for those that are run apart. */
export function reportLines({ instances, apart }: LongTurnReport): readonly string[] {
  const lines = instances.map(
    ({ slug, count, longestMs, route }) =>
      `${slug}: ${count} long ${count === 1 ? 'turn' : 'turns'} within an hour, the longest ${longestMs} ms (${route}).`,
  );
  return apart.length === 0 ? lines : [...lines, `Run apart from the others: ${apart.join(', ')}.`];
}
