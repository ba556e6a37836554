import { sql } from '../../src/sql/sql.ts';
import { undecidedFrom } from '../../src/deliveries/decision-cursor.ts';
import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';

/** Resolves when it is decided for everything in the log which endpoints of accounts are told of it. */
export async function allDecided(service: Pick<TestService, 'withInstance'>): Promise<void> {
  await eventually('all is decided', () =>
    service.withInstance('default', async ({ database }) => {
      const { names } = database;
      const [row] = await database.tuples(
        sql`SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
      );
      return ((await undecidedFrom(database)) ?? 0) >= Number(row?.[0]);
    }),
  );
}
