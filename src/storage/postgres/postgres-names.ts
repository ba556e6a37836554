import { GenerationMap } from '../../base/generation-map.ts';
import { identifier, sql, type Sql } from '../../sql/sql.ts';
import type { Names } from '../database.ts';
import { arrayText } from './postgres-array.ts';
import { postgresGiven } from './postgres-given.ts';
import { postgresInsertWith } from './postgres-insert-with.ts';
import { postgresJson } from './postgres-json.ts';

/** The names for one instance: its collections have a schema of their own, the internal tables are shared and have an `instance_id`. */
export function postgresNames(schema: string, instanceId: string): Names {
  const collectionTables = new GenerationMap<string, Sql>(namesMax);
  const toCollectionTable = (name: string): Sql => sql`${identifier(schema)}.${toBareName(name)}`;
  return {
    engine: 'postgres',
    table: (name) => tables.findOrAdd(name, toTable),
    collectionTable: (name) => collectionTables.findOrAdd(name, toCollectionTable),
    bareName: (name) => bareNames.findOrAdd(name, toBareName),
    column: (name) => columns.findOrAdd(name, toColumn),
    scope: sql`instance_id = ${instanceId}`,
    scopeOf: (alias) => sql`${identifier(alias)}.instance_id = ${instanceId}`,
    scopeColumn: sql`instance_id, `,
    scopeValue: sql`${instanceId}, `,
    // In a subquery: a volatile function is otherwise called for each row, and its value cannot be looked up in an index.
    lastPosition: sql`(SELECT lastval())`,
    insertWith: (insertion, following) => [postgresInsertWith(insertion, following)],
    given: postgresGiven,
    anyOf: (values) => sql` = ANY(${arrayText(values)}::text[])`,
    isInTime: () => undefined,
    json: postgresJson,
    // Not FOR UPDATE: keys are never changed, and other transactions may go on writing rows that refer to this one.
    forUpdate: sql` FOR NO KEY UPDATE`,
    forDelete: sql` FOR UPDATE`,
    // The lock that foreign keys take: it blocks only deletes.
    forReference: sql` FOR KEY SHARE`,
    skipLocked: sql` FOR UPDATE SKIP LOCKED`,
  };
}

/** The size of the caches of names as SQL, which every statement needs. All but those of collections' tables serve all instances. */
const namesMax = 5_000;
const tables = new GenerationMap<string, Sql>(namesMax);
const bareNames = new GenerationMap<string, Sql>(namesMax);
const columns = new GenerationMap<string, Sql>(namesMax);

function toTable(name: string): Sql {
  return sql`chancery.${identifier(name.slice('$'.length))}`;
}

function toBareName(name: string): Sql {
  return identifier(physicalName(name));
}

function toColumn(name: string): Sql {
  return identifier(physicalColumn(name));
}

/** The names of every table's system columns (PostgreSQL 18, section 5.6), which no other column can have. In capitals they are free. */
const systemColumns: ReadonlySet<string> = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/** As {@link physicalName}, for a column. */
export function physicalColumn(name: string): string {
  return systemColumns.has(name) ? `${name}$` : physicalName(name);
}

/** NAMEDATALEN - 1. PostgreSQL truncates longer names without an error, so that two names could become one. */
const nameBytesMax = 63;
const hashLength = 13;

/** A name that fits. One that is too long becomes its beginning, `$`, which no user's name contains, and a hash of all of it. */
export function physicalName(name: string): string {
  if (Buffer.byteLength(name) <= nameBytesMax) return name;
  let start = name.slice(0, nameBytesMax);
  while (Buffer.byteLength(start) > nameBytesMax - hashLength - 1) start = start.slice(0, -1);
  return `${start}$${hash64(name).toString(36).padStart(hashLength, '0')}`;
}

/** The key of the advisory lock that an instance's writers share and an exclusive work takes alone. */
export function advisoryKey(instanceId: string): bigint {
  return BigInt.asIntN(64, hash64(`chancery instance ${instanceId}`));
}

/** FNV-1a, 64 bits. On a collision a second table cannot be made, or two instances wait for each other's changes of tables. */
function hash64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
