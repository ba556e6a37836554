import { sql, type Sql } from '../sql/sql.ts';
import type { Transaction, Tuple } from './database.ts';
import {
  combineChanges,
  combineInsertions,
  combineLookups,
  insertedPosition,
  separateRows,
  type Insertion,
  type InsertionShape,
} from './postgres-combine.ts';

/** Statements that may be run as one: lookups, or writes of which nothing is told but that they were done. */
interface Batch {
  readonly text: string;
  readonly kind: 'lookups' | 'insertions' | 'changes' | 'single';
  readonly asked: Asked[];
}

interface Asked {
  readonly send: () => Promise<unknown>;
  readonly statement: Sql;
  /** How many it has, with those of the rows that follow. */
  readonly values: number;
  readonly insertion?: InsertionShape;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The protocol counts a statement's values in 16 bits. */
const valuesMax = 30_000;

/**
 * What the works of a group ask for in one turn, sent at its end: statements of the same text as one, where they say that they may
 * be. Each work's own stay in the order in which it has asked for them.
 */
export class GroupStatements {
  readonly #tx: Transaction;
  #batches: Batch[] = [];
  /** Where a statement of this text may join, and where each work's last statement is. */
  readonly #latest = new Map<string, number>();
  readonly #lastOf = new Map<object, number>();

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Answers the row; nothing where it is missing, or where someone else is changing it. */
  lookUpToChange(work: object, statement: Sql): Promise<readonly Tuple[]> {
    return this.#add(work, {
      kind: 'lookups',
      text: statement.text,
      statement,
      values: statement.values.length,
    });
  }

  async insert(work: object, insertion: Insertion): Promise<void> {
    const { first, following } = insertion;
    const rows = [first, ...following(insertedPosition)];
    const kind = rows.every(({ together }) => together === 'insert') ? 'insertions' : 'single';
    const text = rows.map((statement) => statement.text).join(';');
    const send = (): Promise<unknown> => this.#tx.insertWith(first, following);
    const values = rows.reduce((count, statement) => count + statement.values.length, 0);
    const shape = { first, following, rows, text };
    await this.#add(work, { kind, text, statement: first, values, insertion: shape, send });
  }

  async change(work: object, statement: Sql): Promise<void> {
    await this.#add(work, {
      kind: 'changes',
      text: statement.text,
      statement,
      values: statement.values.length,
    });
  }

  single<Answer>(work: object, statement: Sql, send: () => Promise<Answer>): Promise<Answer> {
    return this.#add(work, { kind: 'single', text: statement.text, statement, values: 0, send });
  }

  #add<Answer>(
    work: object,
    {
      kind,
      text,
      ...asked
    }: Omit<Batch, 'asked'> & Omit<Asked, 'resolve' | 'reject' | 'send'> & Partial<Asked>,
  ): Promise<Answer> {
    if (this.#batches.length === 0) process.nextTick(() => this.#flush());
    const key = `${kind} ${text}`;
    const before = this.#lastOf.get(work) ?? 0;
    let at = kind === 'single' ? undefined : this.#latest.get(key);
    if (at === undefined || at < before) {
      at = this.#batches.push({ kind, text, asked: [] }) - 1;
      this.#latest.set(key, at);
    }
    this.#lastOf.set(work, at);
    return new Promise<Answer>((resolve, reject) => {
      const send = asked.send ?? ((): Promise<unknown> => this.#tx.run(asked.statement));
      // `resolve` is given only the answer to the statement of the same entry.
      const told = resolve as (answer: unknown) => void;
      this.#batches[at]?.asked.push({ ...asked, send, resolve: told, reject });
    });
  }

  #flush(): void {
    const batches = this.#batches;
    this.#batches = [];
    this.#latest.clear();
    this.#lastOf.clear();
    for (const { kind, asked } of batches) {
      if (kind === 'lookups') this.#lookUp(asked);
      else for (const part of partsOf(asked)) this.#write(kind, part);
    }
  }

  /** Whoever waited for a row's lock would hold those of all others meanwhile, and two groups might wait for each other. */
  #lookUp(asked: readonly Asked[]): void {
    const statements = asked.map(({ statement }) => statement);
    this.#tx
      .tuples(combineLookups(statements, sql` SKIP LOCKED`))
      .then((rows) => separateRows(asked.length, rows))
      .then(
        (rows) => asked.forEach(({ resolve }, index) => resolve(rows[index] ?? [])),
        (error: unknown) => asked.forEach(({ reject }) => reject(error)),
      );
  }

  #write(kind: Batch['kind'], asked: readonly Asked[]): void {
    const [first] = asked;
    if (first === undefined) return;
    const sent = asked.length === 1 || kind === 'single' ? first.send() : this.#tx.run(combined(kind, asked));
    sent.then(
      (answer) => asked.forEach(({ resolve }) => resolve(answer)),
      (error: unknown) => asked.forEach(({ reject }) => reject(error)),
    );
  }
}

function combined(kind: Batch['kind'], asked: readonly Asked[]): Sql {
  if (kind === 'changes') return combineChanges(asked.map(({ statement }) => statement));
  return combineInsertions(asked.flatMap(({ insertion }) => insertion ?? []));
}

/** Of 2, 4, 8 … statements, so that few texts come of them, and each is prepared. */
function partsOf(asked: readonly Asked[]): readonly (readonly Asked[])[] {
  const parts: (readonly Asked[])[] = [];
  const each = asked[0]?.values ?? 0;
  let size = 64;
  let from = 0;
  while (from < asked.length) {
    while (size > asked.length - from || (size > 1 && size * each > valuesMax)) size /= 2;
    parts.push(asked.slice(from, from + size));
    from += size;
  }
  return parts;
}
