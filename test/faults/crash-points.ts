import type { Server } from 'node:http';
import type { AppParts } from '../../src/app.ts';
import type { BlobStore } from '../../src/files/blob-store.ts';
import type { Sql } from '../../src/sql/sql.ts';
import type { Database, BulkInsert, Transaction } from '../../src/storage/database.ts';
import type { ViewDescription, ViewDraft } from '../../src/storage/view-query.ts';
import type { DispatcherOptions } from '../../src/dispatch/dispatcher.ts';

/** Every place at which a server can be made to die, in the order in which one record passes them. */
export const crashPoints = [
  'before the record row',
  'after the record row',
  'after the event row',
  'after the delivery rows',
  'before the answer',
  'after the answer',
  'claimed',
  'sent',
  'while settling',
  'after settling',
] as const;

/** Places that a record passes seldom or never: cursors are stored once a second, ranges are skipped by their owner. */
export const seldomCrashPoints = ['before the lane row', 'after the lane row', 'after the gap row'] as const;

/** Places that a file passes on its way to a record, and out of it. */
export const fileCrashPoints = [
  'before the file is noted',
  'after the file is noted',
  'after the file is placed',
  'before the file is removed',
  'after the file is removed',
] as const;

export type CrashPoint = (typeof crashPoints | typeof seldomCrashPoints | typeof fileCrashPoints)[number];

/** The process dies when it comes to `point` for the `hit`-th time. */
export interface CrashPlan {
  readonly point: CrashPoint;
  readonly hit: number;
}

type Reach = (point: CrashPoint) => void;
type Sender = DispatcherOptions['sender'];

/** Dies as by `kill -9`: nothing is flushed, no handler runs. */
export function reachFor(plan: CrashPlan | undefined): Reach {
  let hits = 0;
  return (point) => {
    if (plan === undefined || point !== plan.point) return;
    hits += 1;
    if (hits === plan.hit) process.kill(process.pid, 'SIGKILL');
  };
}

/** Decorators of the ports at which a server can be watched: nothing of the product knows of crash points. */
export function crashParts(reach: Reach): AppParts {
  return {
    wrapDatabase: (database) => new CrashingDatabase(database, reach),
    wrapSender: (sender) => crashingSender(sender, reach),
    wrapStore: (store) => crashingStore(store, reach),
  };
}

function crashingStore(store: BlobStore, reach: Reach): BlobStore {
  return {
    put: async (key, source) => {
      reach('after the file is noted');
      await store.put(key, source);
      reach('after the file is placed');
    },
    find: (key) => store.find(key),
    read: (key, range) => store.read(key, range),
    remove: async (key) => {
      reach('before the file is removed');
      await store.remove(key);
      reach('after the file is removed');
    },
    removeAll: (folder) => store.removeAll(folder),
    list: () => store.list(),
  };
}

/** The answer of a write has been handed to the system, which sends it even when the process dies. */
export function watchAnswers(server: Server, reach: Reach): void {
  server.on('request', (request, response) => {
    if (request.method !== 'GET') response.once('finish', () => reach('after the answer'));
  });
}

/** What one work has written so far, known by the texts of its statements. */
interface Trace {
  hasRecord: boolean;
  hasDelivery: boolean;
  hasSettled: boolean;
}

class CrashingDatabase implements Database {
  readonly engine: Database['engine'];
  readonly names: Database['names'];
  readonly #database: Database;
  readonly #reach: Reach;

  constructor(database: Database, reach: Reach) {
    this.engine = database.engine;
    this.names = database.names;
    this.#database = database;
    this.#reach = reach;
  }

  state(): object | undefined {
    return this.#database.state();
  }

  describeView(draft: ViewDraft): Promise<ViewDescription> {
    return this.#database.describeView(draft);
  }

  searchDraft(statement: Sql): ReturnType<Database['searchDraft']> {
    return this.#database.searchDraft(statement);
  }

  all(statement: Sql): ReturnType<Database['all']> {
    return this.#database.all(statement);
  }

  get(statement: Sql): ReturnType<Database['get']> {
    return this.#database.get(statement);
  }

  search(statement: Sql): ReturnType<Database['search']> {
    return this.#database.search(statement);
  }

  tuples(statement: Sql): ReturnType<Database['tuples']> {
    return this.#database.tuples(statement);
  }

  stop(): Promise<void> {
    return this.#database.stop();
  }

  async write<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: Parameters<Database['write']>[1],
  ): Promise<Result> {
    const trace: Trace = { hasRecord: false, hasDelivery: false, hasSettled: false };
    const result = await this.#database.write(async (tx) => {
      return await work(crashingTransaction(tx, trace, this.#reach));
    }, options);
    if (trace.hasRecord) this.#reach('before the answer');
    if (trace.hasSettled) this.#reach('after settling');
    return result;
  }
}

function crashingTransaction(tx: Transaction, trace: Trace, reach: Reach): Transaction {
  const crashing: Transaction = {
    isTransaction: true,
    names: tx.names,
    all: (statement) => tx.all(statement),
    get: (statement) => tx.get(statement),
    afterCommit: (callback) => tx.afterCommit(callback),
    pause: () => tx.pause(),
    tuples: (statement) => tx.tuples(statement),
    search: (statement) => tx.search(statement),
    returning: (statement) => tx.returning(statement),
    inOrder: (steps) => tx.inOrder(steps),
    insertRows: (into, rows) => tx.insertRows(into, rows),
    insertLater: (gathering, row) => tx.insertLater(crashingGathering(gathering, reach), row),
    run: async (statement) => {
      const { text } = statement;
      const isRecord = /^(INSERT INTO|UPDATE|DELETE FROM) (?:"i_\w+"\.)?"?posts"?/.test(text);
      const isLane = changesTable(text, 'lane');
      if (isRecord) reach('before the record row');
      if (isLane) reach('before the lane row');
      if (changesTable(text, 'file_removal')) reach('before the file is noted');
      const changes = await tx.run(statement);
      if (isRecord) {
        trace.hasRecord = true;
        reach('after the record row');
      }
      if (changesTable(text, 'event')) reach('after the event row');
      if (changesTable(text, 'delivery')) trace.hasDelivery = true;
      if (changesTable(text, 'gap')) reach('after the gap row');
      if (isLane) reach('after the lane row');
      if (changesTable(text, 'outcome')) {
        trace.hasSettled = true;
        reach('while settling');
      }
      return changes;
    },
  };
  return crashing;
}

/** Whether a statement inserts into a table of the service, or updates it, as either engine names it. */
function changesTable(text: string, name: string): boolean {
  return (tablePatterns[name] ??= new RegExp(
    `\\b(?:INSERT INTO|UPDATE) (?:"\\$${name}"|chancery\\."?${name}"?)(?![\\w"])`,
  )).test(text);
}

const tablePatterns: Record<string, RegExp> = {};

/** One for each, or what is given to it would not be written together. */
const crashing = new WeakMap<object, unknown>();

function crashingGathering<Row>(gathering: BulkInsert<Row>, reach: Reach): BulkInsert<Row> {
  const made: BulkInsert<Row> = {
    ...gathering,
    write: async (tx, rows) => {
      const trace: Trace = { hasRecord: false, hasDelivery: false, hasSettled: false };
      await gathering.write(crashingTransaction(tx, trace, reach), rows);
      if (trace.hasDelivery) reach('after the delivery rows');
    },
  };
  // What was made of it before is of the same type.
  const known = (crashing.get(gathering) ?? made) as BulkInsert<Row>;
  crashing.set(gathering, known);
  return known;
}

function crashingSender(sender: Sender, reach: Reach): Sender {
  return {
    send: (requests) => {
      reach('claimed');
      sender.send(requests);
    },
    onResults: (listener) => {
      sender.onResults((results) => {
        reach('sent');
        listener(results);
      });
    },
    stop: (graceMs) => sender.stop(graceMs),
    handshake: (url) => sender.handshake(url),
    request: (request) => sender.request(request),
  };
}
