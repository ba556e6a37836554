import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ask } from '../../support/postgres.ts';
import { digestOf } from '../journal.ts';
import { withCopy } from '../stored-state.ts';

/** What the tables of one instance hold, read past the product. Numbers of events and endpoints are those of the log. */
export interface LedgerState {
  readonly integrity: string;
  readonly events: readonly LedgerEvent[];
  readonly endpoints: readonly LedgerEndpoint[];
  readonly deliveries: readonly { readonly event: number; readonly endpoint: number }[];
  readonly outcomes: ReadonlyMap<string, { readonly status: string; readonly attempts: number }>;
  readonly gaps: readonly LedgerGap[];
  readonly lanes: ReadonlyMap<number, { readonly cursor: number }>;
  readonly attempts: readonly LedgerAttempt[];
  /** Ids of the records. */
  readonly records: ReadonlySet<string>;
}

export interface LedgerEvent {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly record: string;
  readonly revision: number;
  readonly title: string;
  readonly digest: string;
  /** Of the body that an endpoint gets that wants the id alone. */
  readonly thinDigest: string;
  /** The id of the backfill that it is of; empty for a change. */
  readonly backfill: string;
}

export interface LedgerEndpoint {
  readonly number: number;
  readonly id: string;
  /** The name of its receiver, which its description holds. */
  readonly receiver: string;
  readonly status: string;
  readonly isDeleted: boolean;
  /** Attempts that one delivery may take. */
  readonly attemptsMax: number;
}

export interface LedgerGap {
  readonly endpoint: number;
  readonly first: number;
  readonly last: number;
  readonly status: string;
}

export interface LedgerAttempt {
  readonly event: number;
  readonly endpoint: number;
  readonly number: number;
  readonly kind: string;
  /** That of the answer; null when there was none. */
  readonly status: number | null;
}

export function keyOf({ event, endpoint }: { readonly event: number; readonly endpoint: number }): string {
  return `${event}-${endpoint}`;
}

/** Where an instance is stored. */
export type LedgerPlace =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string; readonly instanceId: string };

type Row = Readonly<Record<string, unknown>>;

/** Reads a copy of a file, as opening the file itself would recover it; of a database, one state of all tables. */
export async function readLedger(place: LedgerPlace): Promise<LedgerState> {
  if (place.engine === 'sqlite')
    return withCopy(place.file, (database) => {
      const integrity = database.prepare('PRAGMA integrity_check').all();
      const words = integrity.map((row) => String(row['integrity_check'])).join('; ');
      return toState(words, (name) => database.prepare(selectOf(place, name)).all());
    });
  const names = Object.keys(columns).map((name) => columnsName(name));
  // One statement, so that all of it is of one snapshot.
  const parts = names.map((name) => `(SELECT json_agg(t) FROM (${selectOf(place, name)}) t) AS "${name}"`);
  const [row] = await ask(place.url, `SELECT ${parts.join(', ')}`);
  // The cast holds: json_agg makes an array of objects, or null of nothing.
  return toState('ok', (name) => (row?.[name] ?? []) as readonly Row[]);
}

const columns = {
  event: 'position, id, kind, record, revision, body, context',
  endpoint: 'position, id, description, status, deleted, schedule',
  delivery: 'event, endpoint',
  outcome: 'event, endpoint, status, attempts',
  gap: 'endpoint, first, last, status',
  lane: 'endpoint, cursor',
  attempt: 'event, endpoint, number, kind, status',
  posts: 'id',
} as const;

type Name = keyof typeof columns;

function columnsName(name: string): Name {
  // The cast holds: called with keys of `columns`.
  return name as Name;
}

function selectOf(place: LedgerPlace, name: Name): string {
  if (name === 'posts')
    return place.engine === 'sqlite'
      ? 'SELECT id FROM posts'
      : `SELECT id FROM "i_${place.instanceId}".posts`;
  const order = name === 'event' ? ' ORDER BY position' : '';
  if (place.engine === 'sqlite') return `SELECT ${columns[name]} FROM "$${name}"${order}`;
  const listed =
    name === 'event' ? columns.event.replace('body', `encode(body, 'base64') AS body`) : columns[name];
  return `SELECT ${listed} FROM chancery."${name}" WHERE instance_id = '${place.instanceId}'${order}`;
}

function toState(integrity: string, rows: (name: Name) => readonly Row[]): LedgerState {
  const place = (row: Row) => ({ event: Number(row['event']), endpoint: Number(row['endpoint']) });
  return {
    integrity,
    events: rows('event').map(toEvent),
    endpoints: rows('endpoint').map((row) => ({
      number: Number(row['position']),
      id: String(row['id']),
      receiver: String(row['description']),
      status: String(row['status']),
      isDeleted: row['deleted'] !== '',
      attemptsMax: attemptsMaxOf(row['schedule']),
    })),
    deliveries: rows('delivery').map(place),
    outcomes: new Map(
      rows('outcome').map((row) => [
        keyOf(place(row)),
        { status: String(row['status']), attempts: Number(row['attempts']) },
      ]),
    ),
    gaps: rows('gap').map((row) => ({
      endpoint: Number(row['endpoint']),
      first: Number(row['first']),
      last: Number(row['last']),
      status: String(row['status']),
    })),
    lanes: new Map(rows('lane').map((row) => [Number(row['endpoint']), { cursor: Number(row['cursor']) }])),
    attempts: rows('attempt').map((row) => ({
      ...place(row),
      number: Number(row['number']),
      kind: String(row['kind']),
      status: row['status'] === null ? null : Number(row['status']),
    })),
    records: new Set(rows('posts').map((row) => String(row['id']))),
  };
}

function attemptsMaxOf(schedule: unknown): number {
  const given: unknown = typeof schedule === 'string' && schedule !== '' ? JSON.parse(schedule) : schedule;
  return Array.isArray(given) ? given.length + 1 : 15;
}

function toEvent(row: Row): LedgerEvent {
  const { body } = row;
  // PostgreSQL has made text of it, in lines.
  const bytes = typeof body === 'string' ? Buffer.from(body, 'base64') : (body as Uint8Array);
  // What webhooks.md section 1 describes, of a collection that has a title.
  const event = JSON.parse(Buffer.from(bytes).toString('utf8')) as {
    readonly data: { readonly title: string };
  };
  const thin = JSON.stringify({ ...event, data: { id: row['record'] } });
  return {
    position: Number(row['position']),
    id: String(row['id']),
    kind: String(row['kind']),
    record: String(row['record']),
    revision: Number(row['revision']),
    title: event.data.title,
    digest: digestOf(bytes),
    thinDigest: digestOf(Buffer.from(thin)),
    backfill: backfillOf(row['context']),
  };
}

function backfillOf(context: unknown): string {
  if (typeof context !== 'string') return '';
  // What the service keeps of an event.
  const { backfill = '' } = JSON.parse(context) as { readonly backfill?: string };
  return backfill;
}

/** Counts what active endpoints still wait for. */
export async function countWaiting(place: LedgerPlace): Promise<number> {
  const from = (name: Name): string =>
    place.engine === 'sqlite'
      ? `"$${name}"`
      : `(SELECT * FROM chancery."${name}" WHERE instance_id = '${place.instanceId}')`;
  const query = `SELECT count(*) AS waiting FROM ${from('delivery')} d
    JOIN ${from('endpoint')} p ON p.position = d.endpoint AND p.deleted = '' AND p.status = 'active'
    LEFT JOIN ${from('outcome')} o ON o.event = d.event AND o.endpoint = d.endpoint
    WHERE CASE WHEN o.event IS NOT NULL THEN o.status = 'pending' ELSE NOT EXISTS (
      SELECT 1 FROM ${from('gap')} g WHERE g.endpoint = d.endpoint AND g.first <= d.event AND g.last >= d.event) END`;
  if (place.engine === 'postgres') return Number((await ask(place.url, query))[0]?.['waiting']);
  // In a thread of its own: counting a large log takes seconds, in which receivers in this one would not answer.
  const thread = new Worker(new URL('count-thread.ts', import.meta.url), {
    workerData: { file: place.file, query },
  });
  const [waiting] = await once(thread, 'message');
  return Number(waiting);
}
