import { OutdatedDefinitions } from '../engine-errors.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';
import type { Definitions } from './postgres-opening.ts';

export type Ask<Shape> = (connection: PostgresConnection) => Promise<Answer<Shape>>;

/**
 * Asks of tables as this process remembers them, and in the same packet, behind it, whether they still are so. Another process may
 * have given a column's name to another column, or a table's to another table, of which the answer itself says nothing: hidden values would be shown under
 * a name that is shown, and records by the rules of another collection. Throws OutdatedDefinitions.
 */
export function askCurrent<Shape>(ask: Ask<Shape>, definitions: Definitions): Ask<Shape> {
  // As it is asked, not as it is sent: until there is a connection others may have been read.
  const known = definitions.known();
  return async (connection) => {
    const [asked, told] = await Promise.allSettled([ask(connection), connection.tuples(definitions.version)]);
    const isOutdated = told.status === 'fulfilled' && told.value.rows[0]?.[0] !== known;
    const cause: unknown = asked.status === 'rejected' ? asked.reason : undefined;
    // Also what has failed may have failed by that.
    if (isOutdated) throw new OutdatedDefinitions(cause);
    if (asked.status === 'rejected') throw asked.reason;
    if (told.status === 'rejected') throw told.reason;
    return asked.value;
  };
}
