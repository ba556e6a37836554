import { GenerationMap } from '../base/generation-map.ts';
import { partsBySize } from '../base/parts-by-size.ts';
import type { Engine, Gathering, Names, Transaction } from './database.ts';

/** What is gathered is in memory, and beyond this a statement for each row costs nothing that anybody would feel. */
const bytesMax = 1024 * 1024;
/** Of rows that come at once, before anybody can see that they are much: a server takes no message of 1 GB. */
const statementBytesMax = 8 * 1024 * 1024;
/** More at once save nothing more. */
const rowsMax = 64;

/** Rows that one work, or those of a group, have given to be inserted together. None outlives its transaction. */
export class GatheredRows {
  readonly #names: Names;
  #batches: Batch[] = [];
  #bytes = 0;
  #rows = 0;
  #failure: Error | undefined;

  constructor(names: Names) {
    this.#names = names;
  }

  get isEmpty(): boolean {
    return this.#rows === 0;
  }

  /** What has kept rows from being written, if anything has. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isFull(): boolean {
    return this.#bytes >= bytesMax || this.#rows >= rowsMax;
  }

  add<Row>(gathering: Gathering<Row>, row: Row): void {
    const known = this.#batches.find((batch) => batch.gathering === gathering);
    if (known === undefined) this.#batches.push(batchOf(gathering, row));
    else known.rows.push(row);
    this.#bytes += gathering.bytesOf(row);
    this.#rows += 1;
  }

  /** Whether a statement may ask for them, or has to come after them. */
  concern(text: string): boolean {
    return this.#rows > 0 && this.#batches.some(({ tables }) => namesTableOf(this.#names, tables, text));
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

  /** Before anybody gives anything: what was given is not written, and what has failed is forgotten. */
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
  readonly tables: Gathering<unknown>['tables'];
  readonly write: (tx: Transaction) => Promise<void>;
}

function batchOf<Row>(gathering: Gathering<Row>, first: Row): Batch {
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

/** What was found in statements: to look through the text of each is more work than all the rest of this. */
const found: Record<Engine, WeakMap<readonly string[], GenerationMap<string, boolean>>> = {
  sqlite: new WeakMap(),
  postgres: new WeakMap(),
};
const textsMax = 256;

function namesTableOf(names: Names, tables: Gathering<unknown>['tables'], text: string): boolean {
  const ofEngine = found[names.engine];
  let known = ofEngine.get(tables);
  if (known === undefined) ofEngine.set(tables, (known = new GenerationMap(textsMax)));
  return known.findOrAdd(text, () => tables.some((table) => text.includes(names.table(table).text)));
}
