/**
 * Keeps a copy of the records that an endpoint with transitions is sent, in your own database. Each webhook is applied in one transaction
 * with the position of its record, so a copy is right whatever comes twice, late or in another order: what is older than the copy is
 * dropped. Of a record that is deleted the position stays, as a tombstone: an older state that comes later would bring it back.
 */

import { follow, isLater, type OrderedWebhook, positionOf, type RecordPosition } from './record-order.ts';

/** A record of the copy, by its instance and collection. */
export interface MirrorKey {
  readonly instance: string;
  readonly collection: string;
  readonly id: string;
}

export type MirrorRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/** What a webhook makes of a record: its data, or undefined for one that is deleted. */
export interface MirrorChange {
  readonly position: RecordPosition;
  readonly data: MirrorRecord | undefined;
}

/** Where a copy is kept. */
export interface MirrorStore {
  /**
   * Stores the change that `decide` makes of the record's position, or nothing where it returns undefined. Both must be one atomic step
   * for the record: two webhooks of it may come at once.
   */
  apply(
    key: MirrorKey,
    decide: (last: RecordPosition | undefined) => MirrorChange | undefined,
  ): void | Promise<void>;
}

export interface MirrorOptions {
  readonly store: MirrorStore;
  /** Returns a record that was too large for its webhook (`isTruncated`), from the record API; undefined for one that is gone. */
  readonly fetchRecord?: (key: MirrorKey) => Promise<MirrorRecord | undefined>;
}

/** What the copy needs to know of a webhook; what `verify` returns has it. */
export interface MirrorWebhook extends OrderedWebhook {
  readonly isTruncated?: boolean;
}

/** What became of a webhook: it changed the copy, a later state was there, or it is about no record. */
export type MirrorOutcome = 'applied' | 'older' | 'ignored';

/** Returns a function that applies a webhook to the copy. When it rejects, answer with an error, so that the webhook comes again. */
export function mirror({
  store,
  fetchRecord,
}: MirrorOptions): (webhook: MirrorWebhook) => Promise<MirrorOutcome> {
  return async (webhook) => {
    const position = positionOf(webhook);
    if (position === undefined) return 'ignored';
    const key = keyOf(webhook);
    const isGone = position.kind === 'deleted' || position.kind === 'left';
    const data = isGone ? undefined : await dataOf(webhook, key, fetchRecord);
    let outcome: MirrorOutcome = 'older';
    await store.apply(key, (last) => {
      // A store may ask again after a conflict.
      outcome = isLater(position, last) ? 'applied' : 'older';
      return outcome === 'applied' ? { position: follow(position, last), data } : undefined;
    });
    return outcome;
  };
}

function keyOf({ event }: MirrorWebhook): MirrorKey {
  const { data } = event;
  // `verify` has checked that a webhook about a record has its id.
  const id = 'id' in data ? String(data.id) : '';
  return { instance: event.instance_id, collection: event.collection, id };
}

async function dataOf(
  { isTruncated, event }: MirrorWebhook,
  key: MirrorKey,
  fetchRecord: MirrorOptions['fetchRecord'],
): Promise<MirrorRecord | undefined> {
  if (isTruncated !== true) return { ...event.data, id: key.id };
  if (fetchRecord === undefined)
    throw new Error(`The record ${key.id} is too large for a webhook: give mirror() a fetchRecord.`);
  return fetchRecord(key);
}

/** A copy in memory, until the process ends. */
export class MemoryMirror implements MirrorStore {
  readonly #records = new Map<string, MirrorChange & { readonly key: MirrorKey }>();

  apply(key: MirrorKey, decide: (last: RecordPosition | undefined) => MirrorChange | undefined): void {
    const text = JSON.stringify([key.instance, key.collection, key.id]);
    const change = decide(this.#records.get(text)?.position);
    if (change !== undefined) this.#records.set(text, { ...change, key });
  }

  /** The records of a collection. */
  records(collection: string): readonly MirrorRecord[] {
    return [...this.#records.values()].flatMap(({ key, data }) =>
      data !== undefined && key.collection === collection ? [data] : [],
    );
  }

  /** Forgets the tombstones of records that were deleted before a time. Webhooks that old must not come any more. */
  forget(before: Date): void {
    for (const [text, { position, data }] of this.#records)
      if (data === undefined && position.timestamp < before.toISOString()) this.#records.delete(text);
  }
}

/** What is used of a database of `node:sqlite`, or of `better-sqlite3`. */
export interface SqlitePort {
  exec(sql: string): unknown;
  prepare(sql: string): {
    get(...values: readonly string[]): unknown;
    run(...values: readonly (string | null)[]): unknown;
  };
}

const sqliteTable = `CREATE TABLE IF NOT EXISTS chancery_mirror (
  instance TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, position TEXT NOT NULL, data TEXT,
  PRIMARY KEY (instance, collection, id)) STRICT`;

/** A copy in the table `chancery_mirror` of a SQLite database: `data` is a record as JSON text, or NULL for one that was deleted. */
export class SqliteMirror implements MirrorStore {
  readonly #database: SqlitePort;

  constructor(database: SqlitePort) {
    this.#database = database;
    database.exec(sqliteTable);
  }

  apply(
    { instance, collection, id }: MirrorKey,
    decide: (last: RecordPosition | undefined) => MirrorChange | undefined,
  ): void {
    const database = this.#database;
    database.exec('BEGIN IMMEDIATE');
    try {
      const row = database
        .prepare('SELECT position FROM chancery_mirror WHERE instance = ? AND collection = ? AND id = ?')
        .get(instance, collection, id);
      const change = decide(storedPosition(row));
      if (change !== undefined)
        database
          .prepare(
            `INSERT INTO chancery_mirror (instance, collection, id, position, data) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (instance, collection, id) DO UPDATE SET position = excluded.position, data = excluded.data`,
          )
          .run(instance, collection, id, JSON.stringify(change.position), textOf(change.data));
      database.exec('COMMIT');
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  }
}

/** Runs statements in one transaction of a PostgreSQL database, and commits them when `work` resolves. */
export interface PostgresPort {
  transaction<Result>(work: (query: PostgresQuery) => Promise<Result>): Promise<Result>;
}

/** As `query` of a client of `pg`. */
export type PostgresQuery = (
  text: string,
  values: readonly (string | null)[],
) => Promise<{ readonly rows: readonly unknown[] }>;

/** The table of a {@link PostgresMirror}. */
export const postgresMirrorTable = `CREATE TABLE IF NOT EXISTS chancery_mirror (
  instance text NOT NULL, collection text NOT NULL, id text NOT NULL, position jsonb NOT NULL, data jsonb,
  PRIMARY KEY (instance, collection, id))`;

/** A copy in the table `chancery_mirror` of a PostgreSQL database: `data` is a record, or NULL for one that was deleted. */
export class PostgresMirror implements MirrorStore {
  readonly #database: PostgresPort;

  constructor(database: PostgresPort) {
    this.#database = database;
  }

  async apply(
    { instance, collection, id }: MirrorKey,
    decide: (last: RecordPosition | undefined) => MirrorChange | undefined,
  ): Promise<void> {
    const key = [instance, collection, id];
    await this.#database.transaction(async (query) => {
      // Another webhook of a record that is new here waits for this row, so that neither overwrites the other.
      await query(
        `INSERT INTO chancery_mirror (instance, collection, id, position) VALUES ($1, $2, $3, '{}') ON CONFLICT DO NOTHING`,
        key,
      );
      const { rows } = await query(
        'SELECT position FROM chancery_mirror WHERE instance = $1 AND collection = $2 AND id = $3 FOR UPDATE',
        key,
      );
      const change = decide(storedPosition(rows[0]));
      if (change === undefined) return;
      await query(
        'UPDATE chancery_mirror SET position = $4, data = $5 WHERE instance = $1 AND collection = $2 AND id = $3',
        [...key, JSON.stringify(change.position), textOf(change.data)],
      );
    });
  }
}

function textOf(data: MirrorRecord | undefined): string | null {
  return data === undefined ? null : JSON.stringify(data);
}

/** Returns the position in a row, which only the classes above write. */
function storedPosition(row: unknown): RecordPosition | undefined {
  if (typeof row !== 'object' || row === null || !('position' in row)) return undefined;
  const { position } = row;
  const stored: unknown = typeof position === 'string' ? JSON.parse(position) : position;
  const isEmpty = typeof stored !== 'object' || stored === null || !('sequence' in stored);
  // The cast holds, as said above.
  return isEmpty ? undefined : (stored as RecordPosition);
}
