import { isJsonObject } from '../../base/json.ts';
import type { Timestamp } from '../../base/timestamp.ts';
import { limit, sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import { type ChangedMember, changedMembers } from './explanation.ts';

/** Entries of the audit log that are read, the newest first. */
const entriesMax = 20_000;

/** The changed members of endpoints, by their ids. */
export interface EndpointChanges {
  readonly members: ReadonlyMap<string, ReadonlySet<ChangedMember>>;
  /** Whether the audit log goes back so far. */
  readonly isWhole: boolean;
}

export const noChanges: EndpointChanges = { members: new Map(), isWhole: true };

/** Reads from the audit log which members of endpoints were changed after a time. */
export async function readEndpointChanges(reader: Reader, since: Timestamp): Promise<EndpointChanges> {
  const { names } = reader;
  const audit = names.table('$audit');
  const [first] = await reader.tuples(
    sql`SELECT created FROM ${audit} WHERE ${names.instance.condition} ORDER BY created LIMIT 1`,
  );
  const rows = await reader.search(sql`
    WITH newest AS MATERIALIZED (
      SELECT action, target, details, created FROM ${audit} WHERE ${names.instance.condition} AND created > ${since}
      ORDER BY created DESC${limit(entriesMax)})
    SELECT (SELECT count(*) FROM newest), target, details FROM (SELECT 1) AS one LEFT JOIN newest ON action = 'endpoint.update'`);
  const members = new Map<string, Set<ChangedMember>>();
  for (const [, target, details] of rows) {
    if (typeof details !== 'string') continue;
    const changed = changedIn(details);
    const before = members.get(String(target)) ?? new Set();
    members.set(String(target), before.union(changed));
  }
  const count = Number(rows[0]?.[0]);
  return { members, isWhole: count < entriesMax && first !== undefined && String(first[0]) <= since };
}

/** Entries are written by the service, and may have been cut. */
function changedIn(details: string): Set<ChangedMember> {
  const parsed: unknown = JSON.parse(details);
  const changed = isJsonObject(parsed) && Array.isArray(parsed['changed']) ? parsed['changed'] : [];
  return new Set(changedMembers.filter((name) => changed.includes(name)));
}
