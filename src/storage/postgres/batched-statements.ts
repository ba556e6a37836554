import { assert } from '../../base/assert.ts';
import { partsBySize } from '../../base/process.ts';
import {
  fillIn,
  identifier,
  joinSql,
  insertedRow,
  sql,
  type Sql,
  type SqlValue,
  withValues,
} from '../../sql/sql.ts';
import { CombinedStatements, BulkInserts } from '../bulk-inserts.ts';
import type { BulkInsert, Transaction, Tuple } from '../database.ts';
import { arrayText, type PostgresArray, toColumnArrays } from './postgres-array.ts';

/** Statements that may be run as one: lookups, or writes that return nothing. */
interface Batch {
  readonly kind: 'lookups' | 'inserts' | 'changes' | 'single';
  readonly entries: Entry[];
}

interface Entry {
  readonly statement: Sql;
  /** How to run a `single` statement; all others are run by `run`. */
  readonly send?: (() => Promise<unknown>) | undefined;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type NewEntry = Pick<Batch, 'kind'> & Pick<Entry, 'statement' | 'send'>;

/**
 * Collects the statements that the works of a group run in one turn, and sends them at its end: statements of the same text as one,
 * if they allow it (`Sql.form`). The statements of each work stay in their order.
 */
export class GroupStatements {
  readonly #tx: Transaction;
  readonly #bulkInserts: BulkInserts;
  #flushed: PromiseWithResolvers<void> | undefined;
  #batches: Batch[] = [];
  #isScheduled = false;
  /** The places in `#batches` of the last batch of each text, and of each work's last statement. */
  readonly #latest = new Map<string, number>();
  readonly #lastOf = new Map<object, number>();

  constructor(tx: Transaction) {
    this.#tx = tx;
    this.#bulkInserts = new BulkInserts();
  }

  /** The error of the last bulk insert, if it failed. */
  get failure(): Error | undefined {
    return this.#bulkInserts.failure;
  }

  /** Resolves to the row, locked; to no row when it does not exist or another transaction has locked it. */
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

  /** Adds a row that is inserted after the statements of its turn: a change's event comes after the lock of the changed row. */
  insertLater<Row>(bulkInsert: BulkInsert<Row>, row: Row): Promise<void> {
    this.#schedule();
    this.#bulkInserts.add(bulkInsert, row);
    this.#flushed ??= Promise.withResolvers();
    return this.#flushed.promise;
  }

  #add<Answer>(work: object, { kind, statement, send }: NewEntry): Promise<Answer> {
    this.#schedule();
    const { text } = statement;
    const key = `${kind} ${text}`;
    const before = this.#lastOf.get(work) ?? 0;
    let at = kind === 'single' ? undefined : this.#latest.get(key);
    if (at === undefined || at < before) {
      at = this.#batches.push({ kind, entries: [] }) - 1;
      this.#latest.set(key, at);
    }
    this.#lastOf.set(work, at);
    return new Promise<Answer>((resolve, reject) => {
      // `resolve` is called only with the answer to the statement of the same entry.
      const resolveAny = resolve as (answer: unknown) => void;
      this.#batches[at]?.entries.push({ statement, send, resolve: resolveAny, reject });
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
    for (const { kind, entries } of batches) {
      if (kind === 'lookups') this.#lookUp(entries);
      else for (const part of partsOf(entries)) this.#write(kind, part);
    }
    this.#flushRows();
  }

  #flushRows(): void {
    const flushed = this.#flushed;
    if (flushed === undefined) return;
    this.#flushed = undefined;
    this.#bulkInserts.flush(this.#tx).then(flushed.resolve, flushed.reject);
  }

  /** Skips locked rows: a group that waited for one would hold the locks of all its others meanwhile, and two groups could deadlock. */
  #lookUp(entries: readonly Entry[]): void {
    const statements = entries.map(({ statement }) => statement);
    sendNow(() => this.#tx.tuples(combineLookups(statements, sql` SKIP LOCKED`)))
      .then((rows) => separateRows(entries.length, rows))
      .then(
        (rows) => entries.forEach(({ resolve }, index) => resolve(rows[index] ?? [])),
        (error: unknown) => entries.forEach(({ reject }) => reject(error)),
      );
  }

  #write(kind: Batch['kind'], entries: readonly Entry[]): void {
    const [first] = entries;
    if (first === undefined) return;
    sendNow(() => first.send?.() ?? this.#tx.run(combined(kind, entries))).then(
      (answer) => entries.forEach(({ resolve }) => resolve(answer)),
      (error: unknown) => entries.forEach(({ reject }) => reject(error)),
    );
  }
}

/** The longest values of one combined statement: more together save nothing, and the server rejects a message of 1 GB. */
const lengthMax = 8 * 1024 * 1024;

function partsOf(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  return partsBySize(entries, ({ statement }) => lengthOf(statement.values), lengthMax);
}

function lengthOf(values: readonly SqlValue[]): number {
  let length = 0;
  for (const value of values) if (typeof value === 'string') length += value.length;
  return length;
}

/** Calls `send` at once. An exception becomes a rejection: in the callback of a tick nothing could catch it. */
async function sendNow<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  return await send();
}

function combined(kind: Batch['kind'], entries: readonly Entry[]): Sql {
  const statements = entries.map(({ statement }) => statement);
  return kind === 'changes' ? changeFromArrays(statements) : insertFromArrays(statements);
}

/** Shared by all instances of the process. */
const combinedStatements = new CombinedStatements(100);

/**
 * Combines lookups that differ only in their keys into one statement, which looks up each key by itself. Not by `= ANY`: with more than
 * a few keys that may be planned as a sequential scan, and the plan stays cached when the table has grown.
 */
export function combineLookups(lookups: readonly Sql[], end: Sql): Sql {
  const [first = sql``] = lookups;
  const shared = first.values.slice(0, -1);
  const combined = combinedStatements.findOrCombine(first.text, end.text, () => {
    const one = fillIn(first, [...shared.map(() => sql`?`), sql`"$key".key`]);
    return sql`SELECT "$key".number, "$row".* FROM unnest(${null}::text[]) WITH ORDINALITY AS "$key" (key, number)
      CROSS JOIN LATERAL (${one}${end}) AS "$row"`;
  });
  return withValues(combined, [arrayText(lookups.map(keyOf)), ...shared]);
}

/** Returns the key of a lookup or a change: the last of its values. */
export function keyOf({ values }: Sql): string {
  return String(values.at(-1));
}

/** Splits the rows of `count` combined lookups into the answers of each, of at most one row. */
export function separateRows(count: number, rows: readonly Tuple[]): readonly (readonly Tuple[])[] {
  const answers = Array.from({ length: count }, (): readonly Tuple[] => []);
  for (const [number, ...row] of rows) answers[Number(number) - 1] = [row];
  return answers;
}

/**
 * Combines INSERTs of one row each into the same columns: the values are sent as one array for each column, so that the SQL text is the
 * same for any number of rows.
 */
export function insertFromArrays(inserts: readonly Sql[]): Sql {
  return fromArrays(inserts, ({ first, columns, rows }) => {
    const { into, row } = insertedRow(first);
    const values = fillIn(
      row,
      columns.map((column) => sql`"$given".${column}`),
    );
    return sql`${into} SELECT ${values} FROM ${rows}`;
  });
}

/**
 * Combines UPDATEs of different rows, each locked by its work, into an INSERT … ON CONFLICT that conflicts for every row. A conflict is
 * always found by the key's index, while an UPDATE joined with arrays may be planned as a sequential scan (see {@link combineLookups}).
 */
function changeFromArrays(changes: readonly Sql[]): Sql {
  return fromArrays(changes, ({ first, rows }) => {
    assert(first.form?.kind === 'change', 'each statement of a bulk change is a change by key');
    const { table, columns, key } = first.form;
    const set = joinSql(
      columns.map((column) => sql`${column} = excluded.${column}`),
      ', ',
    );
    return sql`INSERT INTO ${table} (${joinSql([...columns, key], ', ')}) SELECT * FROM ${rows}
      ON CONFLICT (${key}) DO UPDATE SET ${set}`;
  });
}

interface FromArrays {
  readonly first: Sql;
  /** The columns of {@link rows}, one for each value of a statement. */
  readonly columns: readonly Sql[];
  /** The FROM item that unnests the arrays. */
  readonly rows: Sql;
}

function fromArrays(statements: readonly Sql[], make: (parts: FromArrays) => Sql): Sql {
  const [first = sql``] = statements;
  if (statements.length === 1) return first;
  const arrays = toColumnArrays(
    first.values.length,
    statements.map(({ values }) => values),
  );
  const types = arrays.map(({ type }) => type);
  const combined = combinedStatements.findOrCombine(first.text, joinSql(types, ', ').text, () => {
    const columns = types.map((_, place) => identifier(`c${place}`));
    return make({ first, columns, rows: unnestArrays(arrays, sql`"$given"`, columns) });
  });
  return withValues(
    combined,
    arrays.map(({ bytes }) => bytes),
  );
}

/** A FROM item that makes rows out of one array for each column. Its SQL text depends only on the arrays' types. */
export function unnestArrays(arrays: readonly PostgresArray[], alias: Sql, columns: readonly Sql[]): Sql {
  const casts = arrays.map(({ type, bytes }) => sql`CAST(${bytes} AS ${type})`);
  return sql`unnest(${joinSql(casts, ', ')}) AS ${alias} (${joinSql(columns, ', ')})`;
}
