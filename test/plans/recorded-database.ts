import assert from 'node:assert/strict';
import type { Sql } from '../../src/sql/sql.ts';
import type { Database, BulkInsert, Transaction } from '../../src/storage/database.ts';

/** Notes every statement that is run, inside works as well, and passes it on. Its state is unknown: nothing is answered from memory. */
export function recordedDatabase(database: Database, note: (statement: Sql) => void): Database {
  const write: Database['write'] = (work, options) =>
    database.write((tx) => work(recordedTransaction(tx, note)), options);
  const own = new Map<PropertyKey, unknown>(Object.entries({ write, state: () => undefined }));
  return new Proxy(database, {
    get: (target, key) => own.get(key) ?? recorded(target, key, note),
  });
}

function recordedTransaction(tx: Transaction, note: (statement: Sql) => void): Transaction {
  const gather: Transaction['insertLater'] = (gathering, row) =>
    tx.insertLater(recordedGathering(gathering, note), row);
  return new Proxy(tx, {
    get: (target, key) => {
      if (key === 'insertLater') return gather;
      return recorded(target, key, (statement) => {
        if (reading.has(key)) assert.match(statement.text, /^\s*(?:SELECT|EXPLAIN)\b/);
        note(statement);
      });
    },
  });
}

/** The same for the same: by that the engine knows which rows may be written together. */
const gatherings = new WeakMap<object, BulkInsert<never>>();

function recordedGathering<Row>(gathering: BulkInsert<Row>, note: (statement: Sql) => void): BulkInsert<Row> {
  // Kept under the one that it was made of, whose rows are the same.
  const known = gatherings.get(gathering) as BulkInsert<Row> | undefined;
  if (known !== undefined) return known;
  const write: BulkInsert<Row>['write'] = (tx, rows) => gathering.write(recordedTransaction(tx, note), rows);
  const made = { ...gathering, write };
  gatherings.set(gathering, made);
  return made;
}

const asking = new Set<PropertyKey>(['all', 'get', 'tuples', 'search', 'run', 'returning']);
/** What a work asks by these changes nothing: an engine undoes only the works that have written. */
const reading = new Set<PropertyKey>(['all', 'get', 'tuples', 'search']);

function recorded(target: object, key: PropertyKey, note: (statement: Sql) => void): unknown {
  const member: unknown = Reflect.get(target, key, target);
  if (typeof member !== 'function') return member;
  return (...given: unknown[]): unknown => {
    // Those take a statement before anything else.
    if (asking.has(key)) note(given[0] as Sql);
    return Reflect.apply(member, target, given);
  };
}
