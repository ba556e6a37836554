import type { Collection } from '../collections/collection.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { constantOf } from '../filters/compile/compile.ts';
import { inlineColumns } from '../query/inline-columns.ts';
import { baseAlias } from '../query/record-scope.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';

/** A record as it was or is stored: its values in the order of the collection's fields. */
export interface RecordState {
  readonly revision: number;
  readonly values: readonly StoredValue[];
}

/** A change that lies back, and what became of its record since. */
export interface PastChange {
  readonly collection: Collection;
  readonly isDelete: boolean;
  /** The revision after it. */
  readonly revision: number;
  /** The record as the change left it, of a deletion its last state; undefined where today's definition has fields that the event does not. */
  readonly atChange: Pick<RecordState, 'values'> | undefined;
  /** The record as it is stored now; undefined when there is none. */
  readonly now: RecordState | undefined;
}

/**
 * How a past change is told: not at all, by the id of the record alone, or by the record as it is now. `unknown` where it cannot be found out
 * any more whether it could be seen.
 */
export type PastTelling = 'nothing' | 'id' | 'present' | 'unknown';

/** Who asks: what admits it to records of the collection (`baseAlias`), by the rules, the fields and the relations of now. */
export interface PastViewer {
  readonly condition: Sql;
  /** How long it may take to ask that, where this is less than the query timeout. */
  readonly timeoutMs?: number;
}

/**
 * Decides how a past change is told to somebody who is no superuser and no API key: in a resume, a replay, a retry or a feed.
 *
 * A change is told only if the record could be seen as the change left it *and* can be seen as it is now; and then the record of now is shown:
 * what was redacted, hidden or deleted since is not told to who comes late. A deletion has nothing left to show but the id.
 */
export async function mayTell(reader: Reader, viewer: PastViewer, change: PastChange): Promise<PastTelling> {
  const { condition } = viewer;
  const { isDelete, now } = change;
  if (constantOf(condition) === false || (!isDelete && now === undefined)) return 'nothing';
  const atChange = change.atChange ?? (now?.revision === change.revision && !isDelete ? now : undefined);
  if (atChange === undefined) return 'unknown';
  const states = isDelete || now === undefined ? [atChange] : [atChange, now];
  if (!(await areAllSeen(reader, viewer, { collection: change.collection, states }))) return 'nothing';
  return isDelete ? 'id' : 'present';
}

interface States {
  readonly collection: Collection;
  readonly states: readonly Pick<RecordState, 'values'>[];
}

async function areAllSeen(
  reader: Reader,
  { condition, timeoutMs }: PastViewer,
  { collection, states }: States,
): Promise<boolean> {
  if (constantOf(condition) === true) return true;
  const rows = states.map(({ values }) => sql`SELECT ${inlineColumns(collection, values, reader.names)}`);
  const [seen] = await reader.search(
    sql`SELECT count(*) FROM (${joinSql(rows, ' UNION ALL ')}) AS ${baseAlias} WHERE ${condition}`,
    timeoutMs === undefined ? {} : { timeoutMs },
  );
  return Number(seen?.[0]) === states.length;
}
