import type { Client } from 'pg';
import { median } from './median.ts';

/** As many as share a commit when 64 clients write. */
const rowsPerTransaction = 27;
const transactions = 400;
const rounds = 7;

/** A statement that copies a table's first row so many times, with ids of their own; $1 is where the ids begin. */
interface Copying {
  readonly table: string;
  /** Counted by the server. */
  readonly position: string;
}

/**
 * What a record, its event and its delivery cost PostgreSQL alone, in microseconds each: copies of rows that are there, so that no
 * value is sent or read, in transactions of as many as share one, by one client and without a wait for their sync. Medians.
 */
export async function timeRows(client: Client, schema: string): Promise<RowTimes> {
  const quoted = client.escapeIdentifier(schema);
  const record = await copier(client, { table: `${quoted}.bench`, position: '$position' });
  const event = await copier(client, { table: 'chancery.event', position: 'position' });
  const delivery = await copier(client, { table: 'chancery.delivery', position: '' });
  await client.query('SET synchronous_commit = off');
  const steps = [[record], [record, event], [record, event, delivery]];
  const times: number[][] = steps.map(() => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, step] of steps.entries()) {
      const time = await timeOf(client, step);
      // The first round prepares the statements.
      if (round > 0) times[index]?.push(time);
    }
  const [recordUs = 0, withEvent = 0, withBoth = 0] = times.map(median);
  return { recordUs, eventUs: withEvent - recordUs, deliveryUs: withBoth - withEvent };
}

export interface RowTimes {
  readonly recordUs: number;
  readonly eventUs: number;
  readonly deliveryUs: number;
}

type Copy = (begin: string) => Promise<unknown>;

async function copier(client: Client, { table, position }: Copying): Promise<Copy> {
  const { fields } = await client.query(`SELECT * FROM ${table} LIMIT 1`);
  const names = fields.map(({ name }) => name).filter((name) => name !== position);
  const columns = names.map((name) => client.escapeIdentifier(name)).join(', ');
  const values = names.map((name) => valueOf(name) ?? `one.${client.escapeIdentifier(name)}`);
  const text = `INSERT INTO ${table} (${columns})
    SELECT ${values.join(', ')} FROM (SELECT * FROM ${table} LIMIT 1) AS one, generate_series(10, ${rowsPerTransaction + 9}) AS n`;
  return (begin) => client.query({ name: table, text, values: [begin] });
}

/** What makes each copy another row: its id, or the event that it is of. Events are below 0, as the first partition of the log begins nowhere. */
function valueOf(name: string): string | undefined {
  if (name === 'id') return '$1 || n';
  return name === 'event' ? "-('x' || substr(md5($1 || n), 1, 12))::bit(48)::bigint" : undefined;
}

let begun = 0;

/** Of a row of each. */
async function timeOf(client: Client, copies: readonly Copy[]): Promise<number> {
  const start = performance.now();
  for (let count = 0; count < transactions; count += 1) {
    begun += 1;
    const begin = `copy${begun.toString(36).padStart(9, '0')}`;
    await client.query('BEGIN');
    for (const copy of copies) await copy(begin);
    await client.query('COMMIT');
  }
  return ((performance.now() - start) * 1_000) / transactions / rowsPerTransaction;
}
