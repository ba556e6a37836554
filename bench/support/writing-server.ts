/**
 * The second ceiling of creates and updates: the empty route of bare-server.ts, which writes the rows that a create or an update
 * writes before it answers, and shares commits as the service does. It checks nothing, and puts nothing together: what is left is
 * HTTP and SQLite.
 *
 * Arguments: how many bytes the answer has, a data file with at least one record, its event and its delivery, and their tables.
 */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { fastify, type FastifyReply } from 'fastify';
import { constantAnswer } from './constant-answer.ts';

/** What SQLite counts by itself. */
const POSITIONS = new Set(['position', '$position']);

const [bytes = '', file = '', collection = ''] = process.argv.slice(2);
const answer = constantAnswer(Number(bytes));
const database = new DatabaseSync(file);
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
  PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY`);
const insertRecord = inserter(collection);
const insertEvent = inserter('$event');
const insertDelivery = inserter('$delivery');
const find = database.prepare(`SELECT * FROM "${collection}" WHERE id = ?`);
find.setReturnArrays(true);
const change = database.prepare(
  `UPDATE "${collection}" SET "$revision" = ?, views = ?, updated = ? WHERE id = ?`,
);
const begin = database.prepare('BEGIN IMMEDIATE');
const commit = database.prepare('COMMIT');

interface Waiting {
  readonly write: () => void;
  readonly done: () => void;
}

let made = 0;
let waiting: Waiting[] = [];
let lastGroup = 0;

/** Inserts a row like the first one of a table, with an id of its own; of a delivery, for the event that was inserted last. */
function inserter(table: string): () => void {
  const row = database.prepare(`SELECT * FROM "${table}" LIMIT 1`).get() ?? {};
  const placeOf = (name: string): string => {
    if (name === 'event') return 'last_insert_rowid()';
    return row[name] instanceof Uint8Array ? 'CAST(? AS BLOB)' : '?';
  };
  const names = Object.keys(row).filter((name) => !POSITIONS.has(name));
  const columns = names.map((name) => `"${name}"`).join(', ');
  const insert = database.prepare(
    `INSERT INTO "${table}" (${columns}) VALUES (${names.map(placeOf).join(', ')})`,
  );
  const given = names.filter((name) => name !== 'event');
  const values = given.map((name): SQLInputValue => {
    const value = row[name] ?? null;
    return value instanceof Uint8Array ? Buffer.from(value).toString() : value;
  });
  const idAt = given.indexOf('id');
  return () => {
    values[idAt] = `${Date.now().toString(36)}${made.toString(36).padStart(7, '0')}`;
    insert.get(...values);
  };
}

function createRecord(): void {
  insertRecord();
  insertEvent();
  insertDelivery();
}

function updateRecord(id: string, views: number): void {
  if (find.get(id) === undefined) throw new Error(`There is no record ${id}.`);
  change.run(made, views, new Date().toISOString(), id);
  insertEvent();
  insertDelivery();
}

function turn(known: number): void {
  if (waiting.length > known && waiting.length < lastGroup) {
    setImmediate(turn, waiting.length);
    return;
  }
  const group = waiting;
  waiting = [];
  lastGroup = group.length;
  begin.run();
  for (let index = 0; index < group.length; index += 1) {
    made += 1;
    group[index]?.write();
  }
  commit.run();
  for (const { done } of group) done();
}

function answerAfter(write: () => void, reply: FastifyReply, status: number): void {
  if (waiting.length === 0) setImmediate(turn, 0);
  const done = (): void => {
    void reply.code(status).header('content-type', 'application/json; charset=utf-8').send(answer);
  };
  waiting.push({ write, done });
}

const app = fastify({ logger: false });
app.post('/', (_request, reply) => answerAfter(createRecord, reply, 201));
app.patch<{ Params: { id: string }; Body: { views: number } }>('/:id', ({ params, body }, reply) =>
  answerAfter(() => updateRecord(params.id, body.views), reply, 200),
);
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
process.once('SIGTERM', () => process.exit(0));
