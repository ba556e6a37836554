import { randomUnit } from '../../base/ids.ts';
import { literal, sql, type Sql } from '../../sql/sql.ts';
import type { Database, IndexKey, Names, Plan, TableDialect } from '../database.ts';

export function postgresTables(bareName: Names['bareName']): TableDialect {
  return {
    // A random start: a node that does not know yet that a table was dropped and created again would otherwise take its rows for
    // those it has seen.
    hiddenColumns: () =>
      sql`"$position" bigint GENERATED ALWAYS AS IDENTITY (START WITH ${literal(Math.ceil(randomUnit() * startMax))}), id text COLLATE "C" NOT NULL, "$revision" bigint NOT NULL`,
    hiddenNames: sql`"$position", id, "$revision"`,
    end: sql``,
    // Explicit names: PostgreSQL's defaults, `posts_pkey` and `posts_id_key`, would be taken from collections and indexes.
    addedKeys: (collectionId) =>
      sql`ADD CONSTRAINT ${bareName(`$position_${collectionId}`)} PRIMARY KEY ("$position"), ADD CONSTRAINT ${bareName(`$id_${collectionId}`)} UNIQUE (id)`,
    rebuilding: undefined,
    rowCounting: {
      make: (table) => [
        sql`CREATE TRIGGER "$quota_add" AFTER INSERT ON ${table} REFERENCING NEW TABLE AS changed
          FOR EACH STATEMENT EXECUTE FUNCTION chancery.count_records()`,
        sql`CREATE TRIGGER "$quota_delete" AFTER DELETE ON ${table} REFERENCING OLD TABLE AS changed
          FOR EACH STATEMENT EXECUTE FUNCTION chancery.count_records()`,
      ],
      drop: (table) => [
        sql`DROP TRIGGER IF EXISTS "$quota_add" ON ${table}`,
        sql`DROP TRIGGER IF EXISTS "$quota_delete" ON ${table}`,
      ],
    },
    indexKeys: (keys, isUnique) => (isUnique ? uniqueKeys(keys) : plainKeys(keys)),
    indexedPart: (text) => ({ sql: prefixOf(text), length: prefixLength }),
  };
}

/** Half of the integers that a JavaScript number holds exactly. */
const startMax = 2 ** 52;

/** Bytes for the keys of an index row. PostgreSQL allows 2,704, some of which the row's header takes; the sizes below include alignment. */
const rowBytesMax = 2_640;

/** Code points of a prefix. Each has at most four bytes, so that five prefixes fit into an index row. */
const prefixLength = 128;

const bytesMax = { number: 16, 'short text': 264, 'long text': prefixLength * 4 + 8 } as const;
const DIGEST_BYTES = 40;

/**
 * Returns the leading keys that are sure to fit. The first always does; without the others the index only serves fewer queries.
 */
function plainKeys(keys: readonly IndexKey[]): readonly Sql[] {
  let room = rowBytesMax;
  const end = keys.findIndex(({ kind }) => (room -= bytesMax[kind]) < 0);
  const fitting = end === -1 ? keys : keys.slice(0, end);
  return fitting.map(keyOf);
}

/**
 * Returns keys that are equal exactly where all values are. A text that is longer than its prefix adds a digest of the whole
 * text; one for whose prefix there is no room has only the digest. Digests come last, so that the index serves the same queries
 * as one without them.
 */
function uniqueKeys(keys: readonly IndexKey[]): readonly Sql[] {
  let room = rowBytesMax - keys.length * DIGEST_BYTES;
  const heads: Sql[] = [];
  const digests: Sql[] = [];
  for (const key of keys) {
    // A number fits into the bytes that are reserved for a digest.
    const isText = key.kind !== 'number';
    const hasRoom = !isText || bytesMax[key.kind] <= room;
    if (isText && hasRoom) room -= bytesMax[key.kind];
    if (hasRoom) heads.push(keyOf(key));
    if (!hasRoom) digests.push(sql`(${digestOf(key.sql)})`);
    else if (key.kind === 'long text') digests.push(sql`(${digestOfLong(key.sql)})`);
  }
  return [...heads, ...digests];
}

/**
 * Returns the digest of a text that may be longer than its prefix. Compares bytes, which PostgreSQL knows without decompressing
 * the value: a text of at most this many bytes has at most as many characters.
 */
function digestOfLong(text: Sql): Sql {
  return sql`CASE WHEN octet_length(${text}) > ${literal(prefixLength)} THEN ${digestOf(text)} ELSE ''::bytea END`;
}

/**
 * Returns the SHA-256 of a text. `convert_to` would read better, but is not immutable, as an expression in an index must be. The
 * cast to bytea reads `\` as an escape, so each is doubled.
 */
function digestOf(text: Sql): Sql {
  return sql`sha256(replace(${text}, chr(92), repeat(chr(92), 2))::bytea)`;
}

function keyOf(key: IndexKey): Sql {
  return sql`${key.kind === 'long text' ? sql`(${prefixOf(key.sql)})` : key.sql}${key.order}`;
}

/**
 * Returns the prefix of any text expression, such as `lower("title")`. An index row is limited to 2,704 bytes, and an INSERT of a longer
 * one fails (docs/decisions/0007).
 */
function prefixOf(text: Sql): Sql {
  return sql`left(${text}, ${literal(prefixLength)})`;
}

/** The members of a node of EXPLAIN (FORMAT JSON) that are used here. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A table that is scanned even under `enable_seqscan = off` has no index that leads to the rows. The setting ends with the transaction. */
export async function readPlan(database: Database, select: Sql): Promise<Plan> {
  const [row] = await database.write(async (tx) => {
    await tx.run(sql`SET LOCAL enable_seqscan = off`);
    return tx.tuples(sql`EXPLAIN (FORMAT JSON, COSTS OFF) ${select}`);
  });
  // The shape that PostgreSQL documents for FORMAT JSON: an array with one plan.
  const tops = JSON.parse(String(row?.[0])) as readonly { readonly Plan: PlanNode }[];
  const nodes = tops.flatMap((top) => nodesOf(top.Plan));
  const scanned = nodes.filter((node) => node['Relation Name'] !== undefined && !isLed(node)).length;
  return { scanned, isSorted: nodes.some((node) => node['Node Type'] === 'Sort') };
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function isLed(node: PlanNode): boolean {
  return node['Index Cond'] !== undefined || node['Node Type'] === 'Bitmap Heap Scan';
}
