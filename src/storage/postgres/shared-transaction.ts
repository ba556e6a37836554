import { assert } from '../../base/assert.ts';
import type { Sql } from '../../sql/sql.ts';
import type { Gathering, Names, PlainTuple, Row, Transaction, Tuple } from '../database.ts';
import { mayWrite } from '../may-write.ts';
import { keyOf } from './postgres-combine.ts';
import type { GroupStatements } from './postgres-group-statements.ts';

/** The row that a work was going to change does not exist, or another transaction has locked it. */
class Missed extends Error {
  override readonly name = 'Missed';
}

/** The `tx` that one work of a group is given. */
export class SharedTransaction implements Transaction {
  readonly isTransaction = true;
  readonly callbacks: (() => void)[] = [];
  hasWritten = false;
  /** Whether the lookup of the row to change has failed: the row does not exist or is locked. */
  hasMissed = false;
  readonly #tx: Transaction;
  readonly #statements: GroupStatements;
  readonly #changes: string | undefined;

  constructor(
    tx: Transaction,
    options: { readonly statements: GroupStatements; readonly changes: string | undefined },
  ) {
    this.#tx = tx;
    this.#statements = options.statements;
    this.#changes = options.changes;
  }

  get names(): Names {
    return this.#tx.names;
  }

  all(statement: Sql): Promise<Row[]> {
    this.#note(statement);
    return this.#statements.single(this, statement, () => this.#tx.all(statement));
  }

  get(statement: Sql): Promise<Row | undefined> {
    this.#note(statement);
    return this.#statements.single(this, statement, () => this.#tx.get(statement));
  }

  async search(statement: Sql): Promise<Tuple[]> {
    if (this.#isLookupToChange(statement)) return this.#lookUpToChange(statement);
    this.#note(statement);
    return this.#statements.single(this, statement, () => this.#tx.search(statement));
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    if (this.#isLookupToChange(statement)) return this.#lookUpToChange(statement);
    this.#note(statement);
    return this.#statements.single(this, statement, () => this.#tx.tuples(statement));
  }

  async run(statement: Sql): Promise<number> {
    // A change is sent as an INSERT … ON CONFLICT, which would insert a row that was not locked and may be gone.
    if (statement.together === 'change')
      assert(keyOf(statement) === this.#changes, 'a work changes the row that it has named');
    this.hasWritten = true;
    if (statement.together === 'insert') {
      await this.#statements.insert(this, statement);
      return 1;
    }
    if (statement.together === 'change') {
      await this.#statements.change(this, statement);
      return 1;
    }
    return this.#statements.single(this, statement, () => this.#tx.run(statement));
  }

  insertRows(into: Sql, rows: readonly PlainTuple[]): Promise<void> {
    this.hasWritten = true;
    return this.#statements.single(this, into, () => this.#tx.insertRows(into, rows));
  }

  inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    return this.#tx.inOrder(steps);
  }

  gather<Given>(gathering: Gathering<Given>, row: Given): Promise<void> {
    this.hasWritten = true;
    return this.#statements.gather(gathering, row);
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  #isLookupToChange({ text, together }: Sql): boolean {
    return together === 'lookup' && text.endsWith(this.names.forUpdate.text);
  }

  async #lookUpToChange(statement: Sql): Promise<Tuple[]> {
    // Any other row might also be changed by another work of the group, and neither would wait for the other.
    assert(statement.values[0] === this.#changes, 'a work changes the row that it has named');
    const rows = await this.#statements.lookUpToChange(this, statement);
    if (rows.length > 0) return [...rows];
    this.hasMissed = true;
    // It is run again alone, whatever it does now.
    throw new Missed();
  }

  #note(statement: Sql): void {
    if (mayWrite(statement)) this.hasWritten = true;
  }
}
