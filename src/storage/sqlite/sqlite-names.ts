import { GenerationMap } from '../../base/generation-map.ts';
import { identifier, sql, type Sql } from '../../sql/sql.ts';
import type { Names } from '../database.ts';
import { lastPosition, sqliteInsertWith } from './sqlite-insert-with.ts';
import { sqliteJson } from './sqlite-json.ts';

const none = sql``;
const everything = sql`TRUE`;
/** Names of tables as SQL: the same object each time, so that templates find their text again. Over all instances of a process. */
const tables = new GenerationMap<string, Sql>(5_000);

/** A file is one instance's own: nothing needs to be told apart. */
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

function tableOf(name: string): Sql {
  return tables.findOrAdd(name, identifier);
}
