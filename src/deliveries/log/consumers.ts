import { AppError, notFound } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { limit, sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/** A reader of the feed whose position the service stores. */
export interface ConsumerView {
  readonly name: string;
  /** Events behind its position, of any kind; at most `lagMax`. */
  readonly lag: number;
  readonly created: string;
  readonly updated: string;
}

const consumersMax = 100;
const lagMax = 100_000;
const nameForm = /^[A-Za-z0-9_.-]{1,64}$/;

/** Sets the position of a consumer, and creates it if there is none with this name. Throws bad_request. */
export function putConsumer(
  { database, clock }: Pick<WebhookInstance, 'database' | 'clock'>,
  name: string,
  position: number,
): Promise<ConsumerView> {
  if (!nameForm.test(name))
    throw new AppError('bad_request', 'The name of a consumer has up to 64 letters, digits and _ . -');
  const now = toTimestamp(clock.now());
  return database.write(async (tx) => {
    const { names } = tx;
    const consumer = names.table('$consumer');
    const [row] = await tx.tuples(
      sql`SELECT count(*), max(CASE WHEN name = ${name} THEN 1 ELSE 0 END) FROM ${consumer} WHERE ${names.instance.condition}`,
    );
    if (Number(row?.[0]) >= consumersMax && row?.[1] !== 1)
      throw new AppError('bad_request', `There can be at most ${consumersMax} consumers.`);
    await tx.run(sql`
      INSERT INTO ${consumer} (${names.instance.column}name, position, created, updated)
      VALUES (${names.instance.value}${name}, ${position}, ${now}, ${now})
      ON CONFLICT (${names.instance.column}name) DO UPDATE SET position = excluded.position, updated = excluded.updated`);
    return readConsumer(tx, name);
  });
}

/** Throws not_found. */
export async function readConsumer(reader: Reader, name: string): Promise<ConsumerView> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT position, created, updated FROM ${names.table('$consumer')} WHERE ${names.instance.condition} AND name = ${name}`);
  if (row === undefined) throw notFound();
  const [position, created, updated] = row;
  const [count] = await reader.tuples(sql`
    SELECT count(*) FROM (
      SELECT position FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position > ${Number(position)}${limit(lagMax)}) AS behind`);
  return { name, lag: Number(count?.[0]), created: String(created), updated: String(updated) };
}

/** Returns the position of a consumer. Throws not_found. */
export async function consumerPosition(reader: Reader, name: string): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT position FROM ${names.table('$consumer')} WHERE ${names.instance.condition} AND name = ${name}`,
  );
  if (row === undefined) throw notFound();
  return Number(row[0]);
}

/** Throws not_found. */
export async function deleteConsumer(
  { database }: Pick<WebhookInstance, 'database'>,
  name: string,
): Promise<void> {
  const deleted = await database.write((tx) =>
    tx.run(
      sql`DELETE FROM ${tx.names.table('$consumer')} WHERE ${tx.names.instance.condition} AND name = ${name}`,
    ),
  );
  if (deleted === 0) throw notFound();
}
