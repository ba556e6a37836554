import { assert } from '../../base/assert.ts';
import type { Sql } from '../../sql/sql.ts';
import type { BulkInsert, Names, PlainTuple, Row, Transaction, Tuple } from '../database.ts';
import { BulkInserts } from '../bulk-inserts.ts';

/**
 * Runs an `isBulk` work that has a transaction of its own: buffers the rows that it gives and inserts many at once, the last ones
 * when the work is done. Rejects if an insert failed, even if the work swallowed that error.
 */
export async function runGathering<Result>(
  tx: Transaction,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const gathering = new GatheringTransaction(tx);
  try {
    const value = await work(gathering);
    await gathering.writeAll();
    return value;
  } finally {
    gathering.end();
  }
}

class GatheringTransaction implements Transaction {
  readonly isTransaction = true;
  readonly #tx: Transaction;
  readonly #gathered: BulkInserts;
  #hasEnded = false;
  /** The insert in progress. Later statements wait for it, so that they come behind its rows. */
  #writing: Promise<void> | undefined;

  constructor(tx: Transaction) {
    this.#tx = tx;
    this.#gathered = new BulkInserts(tx.names);
  }

  get names(): Names {
    return this.#tx.names;
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#inTurn(statement, () => this.#tx.all(statement));
  }

  get(statement: Sql): Promise<Row | undefined> {
    return this.#inTurn(statement, () => this.#tx.get(statement));
  }

  search(statement: Sql): Promise<Tuple[]> {
    return this.#inTurn(statement, () => this.#tx.search(statement));
  }

  tuples(statement: Sql): Promise<Tuple[]> {
    return this.#inTurn(statement, () => this.#tx.tuples(statement));
  }

  run(statement: Sql): Promise<number> {
    return this.#inTurn(statement, () => this.#tx.run(statement));
  }

  insertRows(into: Sql, rows: readonly PlainTuple[]): Promise<void> {
    return this.#inTurn(into, () => this.#tx.insertRows(into, rows));
  }

  inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    return this.#tx.inOrder(steps);
  }

  async insertLater<Given>(gathering: BulkInsert<Given>, row: Given): Promise<void> {
    assert(!this.#hasEnded, 'a transaction was used after it had ended');
    this.#gathered.add(gathering, row);
    if (this.#gathered.isFull) await this.#write();
  }

  afterCommit(callback: () => void): void {
    this.#tx.afterCommit(callback);
  }

  async writeAll(): Promise<void> {
    await this.#write();
    if (this.#gathered.failure !== undefined) throw this.#gathered.failure;
  }

  /** Called when the work is over, whether it succeeded or not. */
  end(): void {
    this.#hasEnded = true;
  }

  /** Sends a statement at once, unless it has to see buffered rows, or rows that are being written. */
  #inTurn<Answer>({ text }: Sql, send: () => Promise<Answer>): Promise<Answer> {
    if (this.#gathered.concern(text)) return this.#write().then(send);
    return this.#writing === undefined ? send() : this.#writing.then(send);
  }

  #write(): Promise<void> {
    const write = (): Promise<void> => this.#gathered.write(this.#tx);
    // Rows that are given while this runs wait for the next write.
    const written = this.#writing === undefined ? write() : this.#writing.then(write);
    const writing = written.finally(() => {
      if (this.#writing === writing) this.#writing = undefined;
    });
    this.#writing = writing;
    return writing;
  }
}
