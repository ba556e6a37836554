import { GenerationCache } from '../base/cache.ts';
import { partsBySize } from '../base/process.ts';
import { type Sql, withValues } from '../sql/sql.ts';
import type { BulkInsert, Transaction } from './database.ts';

/** The size at which pending rows are flushed: they are held in memory, and larger batches save nothing noticeable. */
const bytesMax = 1024 * 1024;
/** The most that one statement inserts. Rows of one turn may exceed `bytesMax` by far, and PostgreSQL rejects a message of 1 GB. */
const statementBytesMax = 8 * 1024 * 1024;
/** More rows in one statement save nothing more. */
const rowsMax = 64;

/** Rows of one work, or of the works of a group, that are inserted together. No row outlives its transaction. */
export class BulkInserts {
  #batches: Batch[] = [];
  #bytes = 0;
  #rows = 0;
  #failure: Error | undefined;

  get isEmpty(): boolean {
    return this.#rows === 0;
  }

  /** The error of the last `flush`, if it failed. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isFull(): boolean {
    return this.#bytes >= bytesMax || this.#rows >= rowsMax;
  }

  add<Row>(bulkInsert: BulkInsert<Row>, row: Row): void {
    const current = this.#batches.find((one) => one.bulkInsert === bulkInsert);
    if (current === undefined) this.#batches.push(batchOf(bulkInsert, row));
    else current.rows.push(row);
    this.#bytes += bulkInsert.bytesOf(row);
    this.#rows += 1;
  }

  /** True when a statement names a table with pending rows, which have to be flushed before it. */
  affects({ tables: names }: Sql): boolean {
    return (
      this.#rows > 0 && this.#batches.some(({ tables }) => tables.some((table) => names.includes(table)))
    );
  }

  async flush(tx: Transaction): Promise<void> {
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
  readonly bulkInsert: unknown;
  readonly rows: unknown[];
  readonly tables: BulkInsert<unknown>['tables'];
  readonly write: (tx: Transaction) => Promise<void>;
}

function batchOf<Row>(bulkInsert: BulkInsert<Row>, first: Row): Batch {
  const rows = [first];
  return {
    bulkInsert,
    rows,
    tables: bulkInsert.tables,
    write: async (tx) => {
      for (const part of partsBySize(rows, bulkInsert.bytesOf, statementBytesMax))
        await bulkInsert.write(tx, part);
    },
  };
}

/**
 * A cache of statements that combine several with the same SQL text, keyed by that text and by how they were combined (the variant).
 * Two levels, because a key of both would have to be concatenated for each lookup.
 */
export class CombinedStatements {
  readonly #cached: GenerationCache<string, Map<string | number, Sql>>;

  constructor(textsMax: number) {
    this.#cached = new GenerationCache(textsMax);
  }

  /** Returns the combined statement without values: those differ each time. */
  findOrCombine(text: string, variant: string | number, make: () => Sql): Sql {
    const variants = this.#cached.findOrAdd(text, () => new Map<string | number, Sql>());
    let combined = variants.get(variant);
    if (combined === undefined) variants.set(variant, (combined = withValues(make(), [])));
    return combined;
  }
}
