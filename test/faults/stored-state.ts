import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { digestOf } from './journal.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

export interface StoredEvent {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly record: string;
  readonly revision: number;
  readonly title: string;
  readonly digest: string;
}

export interface StoredRecord {
  readonly id: string;
  readonly revision: number;
  readonly title: string;
  readonly body: string;
}

/** What a database file holds, read by SQLite alone and past the product. */
export interface StoredState {
  readonly integrity: string;
  readonly foreignKeyBreaches: number;
  readonly records: readonly StoredRecord[];
  readonly events: readonly StoredEvent[];
  /** Status of every delivery, with the position of its event. */
  readonly deliveries: ReadonlyMap<string, { readonly status: string; readonly event: number }>;
}

export function readStoredState(file: string): StoredState {
  return withCopy(file, readState);
}

/** Reads a copy: opening the file itself would recover it, which is what the server is to show that it does. */
export function withCopy<Result>(file: string, read: (database: DatabaseSync) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-copy-'));
  const copy = join(folder, 'data.db');
  try {
    copyFileSync(file, copy);
    if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`);
    const database = new DatabaseSync(copy);
    try {
      return read(database);
    } finally {
      database.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readState(database: DatabaseSync): StoredState {
  const integrity = database
    .prepare('PRAGMA integrity_check')
    .all()
    .map((row) => String(row['integrity_check']));
  const events = database.prepare('SELECT * FROM "$event" ORDER BY position').all();
  const records = database.prepare('SELECT id, "$revision" AS revision, title, body FROM posts').all();
  const deliveries = database.prepare(`SELECT id, status, event FROM ${storedDeliveries.sqlite}`).all();
  return {
    integrity: integrity.join('; '),
    foreignKeyBreaches: database.prepare('PRAGMA foreign_key_check').all().length,
    records: records.map((row) => ({
      id: String(row['id']),
      revision: Number(row['revision']),
      title: String(row['title']),
      body: String(row['body']),
    })),
    events: events.map(toStoredEvent),
    deliveries: new Map(
      deliveries.map((row) => [
        String(row['id']),
        { status: String(row['status']), event: Number(row['event']) },
      ]),
    ),
  };
}

function toStoredEvent(row: Readonly<Record<string, unknown>>): StoredEvent {
  // The column is a BLOB and never null.
  const body = row['body'] as Uint8Array;
  const payload = decodePayload(body);
  return {
    position: Number(row['position']),
    id: String(row['id']),
    kind: String(row['kind']),
    record: String(row['record']),
    revision: Number(row['revision']),
    title: payload.data.title,
    digest: digestOf(body),
  };
}

function decodePayload(body: Uint8Array): { readonly data: { readonly title: string } } {
  // What webhooks.md section 1 describes, written by the server for a collection that has a title.
  return JSON.parse(Buffer.from(body).toString('utf8')) as ReturnType<typeof decodePayload>;
}
