import { assert, unreachable } from '../base/assert.ts';
import { randomUnit } from '../base/ids.ts';
import { fieldType } from '../fields/field-types.ts';
import { fieldColumn, type Field } from '../fields/field.ts';
import { literal, sql, type Sql } from '../sql/sql.ts';
import type { Engine, Names } from '../storage/database.ts';

/** Returns the definition of a field's column: name, type and default. */
export function columnDefinition(field: Field, names: Names): Sql {
  return sql`${names.column(field.name)} ${columnType(field, names.engine)}`;
}

/**
 * Returns the columns that every collection's table begins with. A position is never used again: a reader that remembers one
 * would take a new record for one it has seen.
 */
export function hiddenColumns(engine: Engine): Sql {
  if (engine === 'sqlite') {
    return sql`"$position" INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "$revision" INTEGER NOT NULL`;
  }
  // A random start: a node that does not know yet that a table was dropped and created again would otherwise take its rows for
  // those it has seen.
  const start = literal(Math.ceil(randomUnit() * startMax));
  return sql`"$position" bigint GENERATED ALWAYS AS IDENTITY (START WITH ${start}), id text COLLATE "C" NOT NULL, "$revision" bigint NOT NULL`;
}

/** Half of the integers that a JavaScript number holds exactly. */
const startMax = 2 ** 52;

/**
 * Returns what follows `ALTER TABLE` to add the keys to a table that was created without them. PostgreSQL would name their indexes
 * `posts_pkey` and `posts_id_key`, and no collection or index could have these names.
 */
export function addedKeys(collectionId: string, names: Names): Sql {
  const [position, id] = [names.bareName(`$position_${collectionId}`), names.bareName(`$id_${collectionId}`)];
  return sql`ADD CONSTRAINT ${position} PRIMARY KEY ("$position"), ADD CONSTRAINT ${id} UNIQUE (id)`;
}

/**
 * Returns the type and default of a field's column. Zero values are stored, not null; only a json field knows null. Numbers are
 * REAL and double precision: NUMERIC would turn 1e17 into an integer that no JavaScript number can hold. Text compares bytewise
 * on both engines.
 */
function columnType(field: Field, engine: Engine): Sql {
  const kind = fieldColumn(field);
  assert(kind !== undefined, `the field ${field.name} has a column`);
  const text = engine === 'sqlite' ? sql`TEXT` : sql`text COLLATE "C"`;
  switch (kind) {
    case 'text':
      return sql`${text} NOT NULL DEFAULT ''`;
    case 'number':
      return engine === 'sqlite' ? sql`REAL NOT NULL DEFAULT 0` : sql`double precision NOT NULL DEFAULT 0`;
    case 'bool':
      return engine === 'sqlite' ? sql`INTEGER NOT NULL DEFAULT 0` : sql`smallint NOT NULL DEFAULT 0`;
    case 'json':
      return field.type === 'json' ? text : sql`${text} NOT NULL DEFAULT ${zeroOf(field)}`;
    default:
      return unreachable(kind);
  }
}

/** Returns the default of a column of kind `json`. Zero values are texts there, except for json fields, whose columns have no default. */
function zeroOf(field: Field): Sql {
  return literal(String(fieldType(field).zero(field.options)));
}
