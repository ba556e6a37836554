import { OutdatedDefinitions } from '../engine-errors.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';
import type { Definitions } from './postgres-opening.ts';

export type Ask<Shape> = (connection: PostgresConnection) => Promise<Answer<Shape>>;

/**
 * Runs a query, and behind it in the same packet a check that the definitions it was compiled from are current. Another process may
 * have given a column's name to another column, or a table's to another table, and the answer would not show it: hidden values would
 * appear under a visible name, or records under the rules of another collection. Throws OutdatedDefinitions.
 */
export function askCurrent<Shape>(ask: Ask<Shape>, definitions: Definitions): Ask<Shape> {
  // Read when the query is made, not when it is sent: the definitions may be refreshed while it waits for a connection.
  const known = definitions.known();
  return async (connection) => {
    const [asked, told] = await Promise.allSettled([ask(connection), connection.tuples(definitions.version)]);
    const isOutdated = told.status === 'fulfilled' && told.value.rows[0]?.[0] !== known;
    const cause: unknown = asked.status === 'rejected' ? asked.reason : undefined;
    // Checked before errors, as outdated definitions may have caused them.
    if (isOutdated) throw new OutdatedDefinitions(cause);
    if (asked.status === 'rejected') throw asked.reason;
    if (told.status === 'rejected') throw told.reason;
    return asked.value;
  };
}
