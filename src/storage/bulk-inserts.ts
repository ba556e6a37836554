import { GenerationCache } from '../base/cache.ts';
import { partsBySize } from '../base/process.ts';
import { type Sql, withValues } from '../sql/sql.ts';
import type { BulkInsert, Transaction } from './database.ts';

/** The size at which gathered rows are written: they wait in memory, and larger batches save nothing noticeable. */
const bytesMax = 1024 * 1024;
/** The most that one statement inserts. Rows of one turn may exceed `bytesMax` by far, and PostgreSQL takes no message of 1 GB. */
const statementBytesMax = 8 * 1024 * 1024;
/** More rows in one statement save nothing more. */
const rowsMax = 64;

/** Rows that one work, or the works of a group, have given to be inserted together. No row outlives its transaction. */
export class BulkInserts {
  #batches: Batch[] = [];
  #bytes = 0;
  #rows = 0;
  #failure: Error | undefined;

  get isEmpty(): boolean {
    return this.#rows === 0;
  }

  /** The error of the last `write`, if it failed. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isFull(): boolean {
    return this.#bytes >= bytesMax || this.#rows >= rowsMax;
  }

  add<Row>(gathering: BulkInsert<Row>, row: Row): void {
    const known = this.#batches.find((batch) => batch.gathering === gathering);
    if (known === undefined) this.#batches.push(batchOf(gathering, row));
    else known.rows.push(row);
    this.#bytes += gathering.bytesOf(row);
    this.#rows += 1;
  }

  /** True when a statement names a table of gathered rows, which then have to be written before it. */
  concern({ tables: named }: Sql): boolean {
    return (
      this.#rows > 0 && this.#batches.some(({ tables }) => tables.some((table) => named.includes(table)))
    );
  }

  async write(tx: Transaction): Promise<void> {
    if (this.isEmpty) return;
    const batches = this.#batches;
    this.#forget();
    try {
      for (const { write } of batches) await write(tx);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  /** Drops all rows without writing them, and forgets the failure. */
  clear(): void {
    this.#failure = undefined;
    this.#forget();
  }

  #forget(): void {
    this.#batches = [];
    this.#bytes = 0;
    this.#rows = 0;
  }
}

interface Batch {
  readonly gathering: unknown;
  readonly rows: unknown[];
  readonly tables: BulkInsert<unknown>['tables'];
  readonly write: (tx: Transaction) => Promise<void>;
}

function batchOf<Row>(gathering: BulkInsert<Row>, first: Row): Batch {
  const rows = [first];
  return {
    gathering,
    rows,
    tables: gathering.tables,
    write: async (tx) => {
      for (const part of partsBySize(rows, gathering.bytesOf, statementBytesMax))
        await gathering.write(tx, part);
    },
  };
}

/**
 * A cache of statements that were combined from several with the same SQL text, by that text and by the way they were combined. Two
 * levels, because one key made of both would have to be concatenated for each lookup.
 */
export class CombinedStatements {
  readonly #known: GenerationCache<string, Map<string | number, Sql>>;

  constructor(textsMax: number) {
    this.#known = new GenerationCache(textsMax);
  }

  /** Returns the combined statement without values: those differ each time. */
  recall(text: string, way: string | number, make: () => Sql): Sql {
    const ways = this.#known.findOrAdd(text, () => new Map<string | number, Sql>());
    let combined = ways.get(way);
    if (combined === undefined) ways.set(way, (combined = withValues(make(), [])));
    return combined;
  }
}
