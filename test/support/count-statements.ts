import type { Instance } from '../../src/instances/instance.ts';
import type { Sql } from '../../src/sql/sql.ts';
import type { Transaction } from '../../src/storage/database.ts';
import type { CollectionDeletion } from '../../src/definitions/change-collection.ts';

/** An instance's definitions, to be changed without requests, and the statements of the changes. */
export interface CountedDefinitions extends CollectionDeletion {
  /** The texts of the statements of the last change. */
  readonly texts: string[];
  /** How often the last change has let the event loop turn. */
  pauses: number;
}

export function countStatements({ database, collections, clock }: Instance): CountedDefinitions {
  const counted: Pick<CountedDefinitions, 'texts' | 'pauses'> = { texts: [], pauses: 0 };
  return Object.assign(counted, {
    collections,
    now: clock.now(),
    onDeleted: () => Promise.resolve(),
    database: Object.assign(Object.create(database), {
      write: (work: (tx: Transaction) => Promise<unknown>, options: object) =>
        database.write((tx) => {
          // A work may be run again.
          counted.texts.length = 0;
          counted.pauses = 0;
          return work(noting(tx, counted));
        }, options),
    }),
  });
}

/** Returns the same transaction, whose statements are noted. */
function noting(tx: Transaction, counted: Pick<CountedDefinitions, 'texts' | 'pauses'>): Transaction {
  const note = (statement: Sql): Sql => {
    counted.texts.push(statement.text);
    return statement;
  };
  return Object.assign(Object.create(tx), {
    names: tx.names,
    afterCommit: (callback: () => void) => tx.afterCommit(callback),
    pause: () => {
      counted.pauses += 1;
      return tx.pause();
    },
    run: (statement: Sql) => tx.run(note(statement)),
    returning: (statement: Sql) => tx.returning(note(statement)),
    get: (statement: Sql) => tx.get(note(statement)),
    all: (statement: Sql) => tx.all(note(statement)),
    tuples: (statement: Sql) => tx.tuples(note(statement)),
  });
}
