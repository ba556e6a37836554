/**
 * A server that dies where it is told to: the product's own parts, with decorators around two of its ports. Started by tests
 * with one argument, the JSON of {@link CrashingServerOptions}; prints where it listens; stops on SIGTERM.
 */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type AppParts, startApp } from '../../src/app.ts';
import type { Logger } from '../../src/base/logger.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';
import { crashParts, type CrashPlan, reachFor, watchAnswers } from './crash-points.ts';
import { moveAtRandom } from './move-at-random.ts';

export interface CrashingServerOptions {
  readonly data: string;
  /** URL of a PostgreSQL database in place of the folder. */
  readonly postgres?: string;
  readonly crash?: CrashPlan;
  /** Opens the instances' databases so that a commit is not synced: what the tests must notice. */
  readonly isUnsynced?: boolean;
  /** Logs only errors, as receivers that fail are expected. */
  readonly isWithoutWarnings?: boolean;
  /** The seed of moves: instances are run by three threads and moved between them all the time. Nothing is wrapped then. */
  readonly moves?: number;
}

// Only server-process.ts starts this file, and writes these options.
const options = JSON.parse(process.argv[2] ?? '{}') as CrashingServerOptions;
const reach = reachFor(options.crash);
const { wrapDatabase, ...parts } = crashParts(reach);
const { data, postgres, moves } = options;
const place = postgres === undefined ? { data } : { postgres, ...(data === '' ? {} : { data }) };
// What is wrapped is in this thread. What threads log comes on the standard output.
const threads = moves === undefined ? { 'host-threads': '0' } : { 'host-threads': '3', 'log-level': 'error' };
const app = await startApp(readConfig({ ...place, ...threads, port: '0', dev: true }, masterKey()), {
  ...parts,
  logger: errorLogger(),
  wrapDatabase: (database) => wrapDatabase?.(options.isUnsynced ? unsynced(database) : database) ?? database,
} satisfies AppParts);
watchAnswers(app.server.server, reach);
process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)));
// A parent that is gone must not leave it behind.
process.stdin.resume().once('end', () => process.exit(1));
process.stdout.write(`${app.url}\n`);
if (moves !== undefined) moveAtRandom(app, moves);

/** Nodes on one database share a key; the folder has its own. */
function masterKey(): Readonly<Record<string, string>> {
  const key = process.env['CHANCERY_KEY'];
  return options.postgres === undefined || key === undefined ? {} : { CHANCERY_KEY: key };
}

function errorLogger(): Logger {
  const say: Logger['error'] = (message, members = {}) => {
    const { error, ...rest } = members;
    const text = error instanceof Error ? inspect(error) : '';
    process.stderr.write(`${message} ${JSON.stringify(rest)} ${text}\n`);
  };
  const warn = options.isWithoutWarnings === true ? () => undefined : say;
  return { debug: () => undefined, info: () => undefined, warn, error: say };
}

/** Another connection to the only instance's file takes the writes; the first is only there to be stopped. */
function unsynced(database: Database): Database {
  const [id = ''] = readdirSync(join(options.data, 'instances'));
  const path = join(options.data, 'instances', id, 'data.db');
  const other = openSqlite({ path, synchronous: 'NORMAL' });
  return {
    engine: other.engine,
    names: other.names,
    state: () => other.state(),
    describeView: (draft) => other.describeView(draft),
    searchDraft: (statement) => other.searchDraft(statement),
    all: (statement) => other.all(statement),
    get: (statement) => other.get(statement),
    tuples: (statement) => other.tuples(statement),
    search: (statement) => other.search(statement),
    write: (work, writeOptions) => other.write(work, writeOptions),
    stop: async () => {
      await other.stop();
      await database.stop();
    },
  };
}
