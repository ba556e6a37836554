import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ask } from '../../support/postgres.ts';

/** Where the instances of a run are stored. */
export interface WorldsPlace {
  readonly data: string;
  readonly postgres: string | undefined;
}

/** An instance of the directory, read past the product. A restore makes a new one, and the replaced one is kept as a deleted one. */
export interface InstanceWorld {
  readonly id: string;
  readonly slug: string;
  readonly state: string;
  /** Since when it has the state, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface WorldEvent {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly record: string;
  /** What its write has left there; see backup-writers.ts. */
  readonly title: string;
}

export interface WorldRecord {
  readonly id: string;
  readonly title: string;
  /** The name of its file; empty for none, and for an account. */
  readonly file: string;
}

/** One state of an instance. */
export interface World {
  readonly events: readonly WorldEvent[];
  /** Of both collections, by their ids. */
  readonly records: ReadonlyMap<string, WorldRecord>;
  /** Keys of the deliveries that are settled as delivered: the id of the event and the name of the receiver. */
  readonly delivered: ReadonlySet<string>;
  /** How many deliveries are neither delivered nor over. */
  readonly waiting: number;
  /** The ranges of events that restores have lost. */
  readonly lost: readonly { readonly after: number; readonly through: number }[];
}

type Row = Readonly<Record<string, unknown>>;

/** Returns all instances, in the order of their creation. */
export async function readInstances({ data, postgres }: WorldsPlace): Promise<readonly InstanceWorld[]> {
  const columns = 'id, slug, state, state_since AS since';
  const rows =
    postgres === undefined
      ? onFile(join(data, 'control.db'), (all) => all(`SELECT ${columns} FROM "$instance" ORDER BY position`))
      : await ask(postgres, `SELECT ${columns} FROM chancery.instance ORDER BY position`);
  return rows.map((row) => ({
    id: String(row['id']),
    slug: String(row['slug']),
    state: String(row['state']),
    sinceMs: Date.parse(String(row['since']).replace(' ', 'T')),
  }));
}

/** Reads one state of an instance, whether or not a server runs. */
export async function readWorld({ data, postgres }: WorldsPlace, id: string): Promise<World> {
  if (postgres === undefined)
    return onFile(join(data, 'instances', id, 'data.db'), (all) => toWorld((part) => all(sqliteParts[part])));
  const texts = Object.entries(postgresParts(id));
  const select = texts.map(([part, text]) => `(SELECT json_agg(t) FROM (${text}) t) AS "${part}"`);
  // One statement, so that all of it is of one snapshot.
  const [row] = await ask(postgres, `SELECT ${select.join(', ')}`);
  // The cast holds: json_agg makes an array of objects, or null of nothing.
  return toWorld((part) => (row?.[part] ?? []) as readonly Row[]);
}

const deliveredOf = (outcome: string, event: string, endpoint: string): string =>
  `SELECT e.id AS event, p.description AS receiver, o.status FROM ${outcome} o
   JOIN ${event} e ON e.position = o.event JOIN ${endpoint} p ON p.position = o.endpoint`;

const sqliteParts = {
  events: `SELECT position, id, kind, record, CAST(body AS TEXT) AS body FROM "$event" ORDER BY position`,
  posts: 'SELECT id, title, file FROM posts',
  members: `SELECT id, title, '' AS file FROM members`,
  outcomes: deliveredOf('"$outcome"', '"$event"', '"$endpoint"'),
  deliveries: 'SELECT count(*) AS count FROM "$delivery"',
  lost: `SELECT value FROM "$instance_setting" WHERE name = 'lost'`,
} as const;

type Part = keyof typeof sqliteParts;

function postgresParts(id: string): Readonly<Record<Part, string>> {
  const of = (name: string): string => `(SELECT * FROM chancery."${name}" WHERE instance_id = '${id}')`;
  return {
    events: `SELECT position, id, kind, record, convert_from(body, 'UTF8') AS body FROM ${of('event')} x ORDER BY position`,
    posts: `SELECT id, title, file FROM "i_${id}".posts`,
    members: `SELECT id, title, '' AS file FROM "i_${id}".members`,
    outcomes: deliveredOf(of('outcome'), of('event'), of('endpoint')),
    deliveries: `SELECT count(*) AS count FROM ${of('delivery')} x`,
    lost: `SELECT value FROM ${of('instance_setting')} x WHERE name = 'lost'`,
  };
}

function toWorld(rows: (part: Part) => readonly Row[]): World {
  const outcomes = rows('outcomes');
  const settled = outcomes.filter(({ status }) => status !== 'pending').length;
  const [lost] = rows('lost');
  const records = [...rows('posts'), ...rows('members')].map((row) => ({
    id: String(row['id']),
    title: String(row['title']),
    file: String(row['file']),
  }));
  return {
    events: rows('events').map(toEvent),
    records: new Map(records.map((record) => [record.id, record])),
    delivered: new Set(
      outcomes
        .filter(({ status }) => status === 'delivered')
        .map(({ event, receiver }) => deliveryKey(String(event), String(receiver))),
    ),
    waiting: Number(rows('deliveries')[0]?.['count'] ?? 0) - settled,
    // The product writes it, as docs/backups.md says of cursors.
    lost: lost === undefined ? [] : (JSON.parse(String(lost['value'])) as World['lost']),
  };
}

function toEvent(row: Row): WorldEvent {
  // What webhooks.md describes, of collections that have a title.
  const { data } = JSON.parse(String(row['body'])) as { readonly data: { readonly title: string } };
  return {
    position: Number(row['position']),
    id: String(row['id']),
    kind: String(row['kind']),
    record: String(row['record']),
    title: data.title,
  };
}

export function deliveryKey(eventId: string, receiver: string): string {
  return `${eventId} ${receiver}`;
}

function onFile<Result>(file: string, read: (all: (text: string) => readonly Row[]) => Result): Result {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    database.exec('BEGIN');
    return read((text) => database.prepare(text).all());
  } finally {
    database.close();
  }
}
