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

/** A past change, and the current state of its record. */
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
 * How a past change is sent: not at all, as the id of the record alone, or as the record is now. `unknown` where it can no longer be decided
 * whether it was visible.
 */
export type PastTelling = 'nothing' | 'id' | 'present' | 'unknown';

/** The viewer: the condition that admits it to records of the collection (`baseAlias`), by the current rules, fields and relations. */
export interface PastViewer {
  readonly condition: Sql;
  /** The timeout of the condition, where it is shorter than the query timeout. */
  readonly timeoutMs?: number;
}

/**
 * Decides how a past change is sent to a viewer other than superusers and API keys: in a resume, a replay, a retry or a feed.
 *
 * A change is sent only if the record was visible as the change left it *and* is visible as it is now; and then the current record is sent:
 * values that were redacted, hidden or deleted since are not. Of a deletion only the id remains.
 */
export async function mayTell(reader: Reader, viewer: PastViewer, change: PastChange): Promise<PastTelling> {
  const { condition } = viewer;
  const { isDelete, now } = change;
  if (constantOf(condition) === false || (!isDelete && now === undefined)) return 'nothing';
  const atChange = change.atChange ?? (now?.revision === change.revision && !isDelete ? now : undefined);
  if (atChange === undefined) return 'unknown';
  const states = isDelete || now === undefined ? [atChange] : [atChange, now];
  if (!(await areAllVisible(reader, viewer, { collection: change.collection, states }))) return 'nothing';
  return isDelete ? 'id' : 'present';
}

interface States {
  readonly collection: Collection;
  readonly states: readonly Pick<RecordState, 'values'>[];
}

async function areAllVisible(
  reader: Reader,
  { condition, timeoutMs }: PastViewer,
  { collection, states }: States,
): Promise<boolean> {
  if (constantOf(condition) === true) return true;
  const rows = states.map(({ values }) => sql`SELECT ${inlineColumns(collection, values, reader.names)}`);
  const [row] = await reader.search(
    sql`SELECT count(*) FROM (${joinSql(rows, ' UNION ALL ')}) AS ${baseAlias} WHERE ${condition}`,
    timeoutMs === undefined ? {} : { timeoutMs },
  );
  return Number(row?.[0]) === states.length;
}
