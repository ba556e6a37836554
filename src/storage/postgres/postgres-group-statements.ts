import { partsBySize } from '../../base/parts-by-size.ts';
import { sql, type Sql, type SqlValue } from '../../sql/sql.ts';
import type { Gathering, Transaction, Tuple } from '../database.ts';
import { GatheredRows } from '../gathered-rows.ts';
import { changeFromArrays, insertFromArrays, combineLookups, separateRows } from './postgres-combine.ts';

/** Statements that may be run as one: lookups, or writes of which nothing is told but that they were done. */
interface Batch {
  readonly kind: 'lookups' | 'inserts' | 'changes' | 'single';
  readonly asked: Asked[];
}

interface Asked {
  readonly statement: Sql;
  /** How to run it, where that is not by `run`. */
  readonly send?: (() => Promise<unknown>) | undefined;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Asking = Pick<Batch, 'kind'> & Pick<Asked, 'statement' | 'send'>;

/**
 * What the works of a group ask for in one turn, sent at its end: statements of the same text as one, where they say that they may
 * be. Each work's own stay in the order in which it has asked for them.
 */
export class GroupStatements {
  readonly #tx: Transaction;
  readonly #gathered: GatheredRows;
  #written: PromiseWithResolvers<void> | undefined;
  #batches: Batch[] = [];
  #isScheduled = false;
  /** Where a statement of this text may join, and where each work's last statement is. */
  readonly #latest = new Map<string, number>();
  readonly #lastOf = new Map<object, number>();

  constructor(tx: Transaction) {
    this.#tx = tx;
    this.#gathered = new GatheredRows(tx.names);
  }

  /** What has kept gathered rows from being written, if anything has. */
  get failure(): Error | undefined {
    return this.#gathered.failure;
  }

  /** Answers the row; nothing where it is missing, or where someone else is changing it. */
  lookUpToChange(work: object, statement: Sql): Promise<readonly Tuple[]> {
    return this.#add(work, { kind: 'lookups', statement });
  }

  async insert(work: object, statement: Sql): Promise<void> {
    await this.#add(work, { kind: 'inserts', statement });
  }

  async change(work: object, statement: Sql): Promise<void> {
    await this.#add(work, { kind: 'changes', statement });
  }

  single<Answer>(work: object, statement: Sql, send: () => Promise<Answer>): Promise<Answer> {
    return this.#add(work, { kind: 'single', statement, send });
  }

  /** Written behind the statements of its turn: a change's event comes after the lock of what it changes. */
  gather<Row>(gathering: Gathering<Row>, row: Row): Promise<void> {
    this.#schedule();
    this.#gathered.add(gathering, row);
    this.#written ??= Promise.withResolvers();
    return this.#written.promise;
  }

  #add<Answer>(work: object, { kind, statement, send }: Asking): Promise<Answer> {
    this.#schedule();
    const { text } = statement;
    const key = `${kind} ${text}`;
    const before = this.#lastOf.get(work) ?? 0;
    let at = kind === 'single' ? undefined : this.#latest.get(key);
    if (at === undefined || at < before) {
      at = this.#batches.push({ kind, asked: [] }) - 1;
      this.#latest.set(key, at);
    }
    this.#lastOf.set(work, at);
    return new Promise<Answer>((resolve, reject) => {
      // `resolve` is given only the answer to the statement of the same entry.
      const told = resolve as (answer: unknown) => void;
      this.#batches[at]?.asked.push({ statement, send, resolve: told, reject });
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const batches = this.#batches;
    this.#batches = [];
    this.#latest.clear();
    this.#lastOf.clear();
    for (const { kind, asked } of batches) {
      if (kind === 'lookups') this.#lookUp(asked);
      else for (const part of partsOf(asked)) this.#write(kind, part);
    }
    this.#writeGathered();
  }

  #writeGathered(): void {
    const written = this.#written;
    if (written === undefined) return;
    this.#written = undefined;
    this.#gathered.write(this.#tx).then(written.resolve, written.reject);
  }

  /** Whoever waited for a row's lock would hold those of all others meanwhile, and two groups might wait for each other. */
  #lookUp(asked: readonly Asked[]): void {
    const statements = asked.map(({ statement }) => statement);
    sendNow(() => this.#tx.tuples(combineLookups(statements, sql` SKIP LOCKED`)))
      .then((rows) => separateRows(asked.length, rows))
      .then(
        (rows) => asked.forEach(({ resolve }, index) => resolve(rows[index] ?? [])),
        (error: unknown) => asked.forEach(({ reject }) => reject(error)),
      );
  }

  #write(kind: Batch['kind'], asked: readonly Asked[]): void {
    const [first] = asked;
    if (first === undefined) return;
    sendNow(() => first.send?.() ?? this.#tx.run(combined(kind, asked))).then(
      (answer) => asked.forEach(({ resolve }) => resolve(answer)),
      (error: unknown) => asked.forEach(({ reject }) => reject(error)),
    );
  }
}

/** Of the values of one statement: more save nothing by being together, and the server takes no message of 1 GB. */
const lengthMax = 8 * 1024 * 1024;

function partsOf(asked: readonly Asked[]): readonly (readonly Asked[])[] {
  return partsBySize(asked, ({ statement }) => lengthOf(statement.values), lengthMax);
}

function lengthOf(values: readonly SqlValue[]): number {
  let length = 0;
  for (const value of values) if (typeof value === 'string') length += value.length;
  return length;
}

/** At once. What cannot be put together is refused: those who asked are told, where nobody could catch what is thrown. */
async function sendNow<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  return await send();
}

function combined(kind: Batch['kind'], asked: readonly Asked[]): Sql {
  const statements = asked.map(({ statement }) => statement);
  return kind === 'changes' ? changeFromArrays(statements) : insertFromArrays(statements);
}
