import type { Sql } from '../../src/sql/sql.ts';
import type { ViewDescription, ViewDraft } from '../../src/storage/view-query.ts';
import type { Database, Row, Transaction, Tuple, WriteOptions } from '../../src/storage/database.ts';

/** A database that can be told to fail: for reads of deliveries, and for all writes. */
export class FaultyDatabase implements Database {
  canRead = true;
  canWrite = true;
  /** What a write throws that is refused. */
  refusal = new Error('the disk is full');
  /** Returns what a search throws, if it is to fail. */
  searchFault: (statement: Sql) => Error | undefined = () => undefined;
  /** Number of writes that were refused. */
  refusedCount = 0;
  /** Number of reads that were answered late. */
  heldCount = 0;
  /** The texts of all reads by rows of tuples. */
  readonly texts: string[] = [];
  /** The options of each write. */
  readonly options: WriteOptions[] = [];
  #held: { readonly part: string; readonly released: Promise<void> } | undefined;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get engine(): Database['engine'] {
    return this.#database.engine;
  }

  get names(): Database['names'] {
    return this.#database.names;
  }

  state(): object | undefined {
    return this.#database.state();
  }

  describeView(draft: ViewDraft): Promise<ViewDescription> {
    return this.#database.describeView(draft);
  }

  searchDraft(statement: Sql): ReturnType<Database['searchDraft']> {
    return this.#database.searchDraft(statement);
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#database.all(statement);
  }

  async get(statement: Sql): Promise<Row | undefined> {
    const row = await this.#database.get(statement);
    await this.#hold(statement);
    return row;
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    this.texts.push(statement.text);
    if (!this.canRead && statement.text.includes('delivery')) throw new Error('the file cannot be read');
    const rows = await this.#database.tuples(statement);
    await this.#hold(statement);
    return rows;
  }

  async search(statement: Sql): Promise<Tuple[]> {
    const fault = this.searchFault(statement);
    if (fault !== undefined) throw fault;
    return this.tuples(statement);
  }

  /** From now on holds back the answers to reads whose text contains `part`, until the returned function is called. */
  holdReads(part: string): () => void {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    this.#held = { part, released };
    return () => {
      this.#held = undefined;
      resolve();
    };
  }

  async #hold({ text }: Sql): Promise<void> {
    if (this.#held === undefined || !text.includes(this.#held.part)) return;
    this.heldCount += 1;
    await this.#held.released;
  }

  async write<Result>(work: (tx: Transaction) => Promise<Result>, options?: WriteOptions): Promise<Result> {
    this.options.push(options ?? {});
    if (this.canWrite) return this.#database.write(work, options);
    this.refusedCount += 1;
    throw this.refusal;
  }

  stop(): Promise<void> {
    return this.#database.stop();
  }
}
