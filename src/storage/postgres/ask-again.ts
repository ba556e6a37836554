import type { Ask } from './ask-current.ts';
import { joinsInOrder } from './postgres-begin.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';
import { hasNoJoinOrder, isStaleStatement } from './postgres-errors.ts';

/** Asks, and once more if a table has changed since the statement was prepared, or the planner has found no join order. */
export async function askAgain<Shape>(
  connection: PostgresConnection,
  ask: Ask<Shape>,
): Promise<Answer<Shape>> {
  try {
    return await ask(connection);
  } catch (error) {
    if (isStaleStatement(error)) return await ask(connection);
    if (!hasNoJoinOrder(error)) throw error;
    return await connection.between(
      `SET ${joinsInOrder}`,
      () => ask(connection),
      'RESET join_collapse_limit',
    );
  }
}
