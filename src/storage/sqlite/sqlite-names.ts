import { GenerationMap } from '../../base/generation-map.ts';
import { identifier, sql, type Sql } from '../../sql/sql.ts';
import type { Names } from '../database.ts';
import { sqliteGiven } from './sqlite-given.ts';
import { lastPosition, sqliteInsertWith } from './sqlite-insert-with.ts';
import { sqliteJson } from './sqlite-json.ts';

const none = sql``;
const everything = sql`TRUE`;
/** Table names as SQL, for all instances of a process: the same object each time, by which templates recognize what they spliced last. */
const tables = new GenerationMap<string, Sql>(5_000);

/** Each instance has a file of its own, so names and scopes need no instance. */
export const sqliteNames: Names = {
  engine: 'sqlite',
  table: tableOf,
  collectionTable: tableOf,
  bareName: identifier,
  column: identifier,
  scope: everything,
  scopeOf: () => everything,
  scopeColumn: none,
  scopeValue: none,
  lastPosition,
  insertWith: sqliteInsertWith,
  given: sqliteGiven,
  anyOf: (values) => sql` IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  // node:sqlite cannot interrupt a statement. The argument keeps SQLite from evaluating the function only once per statement.
  isInTime: (number, looks) => {
    const look = sql`"$in_time"(${number})`;
    return looks === 'for every row' ? look : sql`(${number} & 63 OR ${look})`;
  },
  json: sqliteJson,
  forUpdate: none,
  forDelete: none,
  forReference: none,
  skipLocked: none,
};

function tableOf(name: string): Sql {
  return tables.findOrAdd(name, identifier);
}
