import { sql, type Sql } from '../../sql/sql.ts';
import { bytesOfTuple, type Names, type Tuple } from '../database.ts';
import { type InstanceSnapshot, pieceBytes, type Snapshot } from '../snapshot.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { openPostgresPool, type PostgresPoolOptions } from './postgres-pool.ts';

/** A snapshot of a large instance is read for so long at most. */
const readMsMax = 24 * 3_600_000;
const rowsMin = 16;
const rowsMax = 1_000;

/**
 * Reads an instance in one transaction that sees the database as it was when it began, over a connection of its own. Changes of the tables
 * that it has read wait for its end.
 */
export async function readPostgresSnapshot<Result>(
  { names, ...options }: PostgresPoolOptions & { readonly names: Names },
  work: (snapshot: InstanceSnapshot) => Promise<Result>,
): Promise<Result> {
  const times = { statementTimeoutMs: readMsMax, transactionTimeoutMs: readMsMax };
  const pool = await openPostgresPool({ ...options, ...times, name: 'background', max: 1 });
  try {
    return await pool.lend(async (connection) => {
      await connection.command('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const snapshot = snapshotOf(connection, names);
      try {
        return await work({ data: snapshot, logs: snapshot });
      } finally {
        // When it fails, the connection is lost, and the transaction with it.
        await connection.command('ROLLBACK').catch(() => connection.close());
      }
    });
  } finally {
    await pool.stop();
  }
}

function snapshotOf(connection: PostgresConnection, names: Names): Snapshot {
  const tuples = async (statement: Sql): Promise<Tuple[]> => [...(await connection.tuples(statement)).rows];
  return {
    names,
    all: async (statement) => [...(await connection.rows(statement)).rows],
    get: async (statement) => (await connection.rows(statement)).rows[0],
    tuples,
    search: tuples,
    scan: (statement) => scan(connection, statement),
  };
}

async function* scan(connection: PostgresConnection, statement: Sql): AsyncGenerator<readonly Tuple[]> {
  await connection.tuples(sql`DECLARE scan NO SCROLL CURSOR FOR ${statement}`);
  try {
    for (let count = rowsMin; ;) {
      const { rows } = await connection.tuples({ ...sql``, text: `FETCH ${count} FROM scan` });
      if (rows.length > 0) yield rows;
      if (rows.length < count) return;
      const bytes = rows.reduce((sum, row) => sum + bytesOfTuple(row), 0);
      // As many as fit, by what these have taken.
      const fitting = Math.floor((pieceBytes * rows.length) / Math.max(bytes, 1));
      count = Math.min(Math.max(fitting, 1), rowsMax);
    }
  } finally {
    await connection.command('CLOSE scan').catch(() => connection.close());
  }
}
