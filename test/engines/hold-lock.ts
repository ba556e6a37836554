/** A process that holds what tests want held: `hold-lock.ts data <folder>`, `hold-lock.ts writer <file> [ms]`. Says `held`, or `refused`. */

import { DatabaseSync } from 'node:sqlite';
import { lockDataDirectory } from '../../src/storage/data-home.ts';

const [kind = '', path = '', ms] = process.argv.slice(2);
const held = hold();
process.stdout.write(held === undefined ? 'refused\n' : 'held\n');
// For ever: the test kills it. Until then nothing that is held may be collected, or its lock is gone.
setInterval(() => held, 60_000);

function hold(): object | undefined {
  if (kind === 'data') return lockDataDirectory(path);
  const database = new DatabaseSync(path);
  database.exec('BEGIN IMMEDIATE');
  if (ms !== undefined) setTimeout(() => database.exec('ROLLBACK'), Number(ms));
  return database;
}
