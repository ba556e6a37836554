import { GenerationMap } from '../base/generation-map.ts';
import { identifier, sql, type Sql } from '../sql/sql.ts';
import type { Insertion, Names } from './database.ts';
import { sqliteJson } from './sqlite-json.ts';

const none = sql``;
const everything = sql`TRUE`;
/** Names of tables as SQL: the same object each time, so that templates find their text again. Over all instances of a process. */
const tables = new GenerationMap<string, Sql>(5_000);

const lastPosition = sql`last_insert_rowid()`;

/** A file is one instance's own: nothing needs to be told apart. */
export const sqliteNames: Names = {
  engine: 'sqlite',
  table: tableOf,
  collectionTable: tableOf,
  column: identifier,
  scope: everything,
  scopeOf: () => everything,
  scopeColumn: none,
  scopeValue: none,
  lastPosition,
  insertWith: (insertion, following) => [
    insertion.insert,
    ...following((first, last) => insertedRows(insertion, first, last)),
  ],
  anyOf: (values) => sql` IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  // SQLite has nothing that would stop a statement; the argument keeps it from being asked only once.
  isInTime: (alias, looks) => {
    const look = sql`"$in_time"(${alias}."$position")`;
    return looks === 'for every row' ? look : sql`(${alias}."$position" & 63 OR ${look})`;
  },
  json: sqliteJson,
  forUpdate: none,
  forDelete: none,
  forReference: none,
  skipLocked: none,
};

/** They have no gaps, as nobody else inserts meanwhile. */
function insertedRows({ table, count }: Insertion, first: number, last: number): Sql {
  return sql`${tableOf(table)} WHERE position BETWEEN ${lastPosition} - ${count - 1 - first} AND ${lastPosition} - ${count - 1 - last}`;
}

function tableOf(name: string): Sql {
  return tables.findOrAdd(name, identifier);
}
