/** A process that holds what tests want held: `hold-lock.ts data <folder>`, `hold-lock.ts writer <file>`. Says `held`, or `refused`. */
import { DatabaseSync } from 'node:sqlite';
import { lockDataDirectory } from '../../src/storage/data-lock.ts';

const [kind = '', path = ''] = process.argv.slice(2);
process.stdout.write(hold() ? 'held\n' : 'refused\n');
// For ever: the test kills it.
setInterval(() => undefined, 60_000);

function hold(): boolean {
  if (kind === 'data') return lockDataDirectory(path) !== undefined;
  new DatabaseSync(path).exec('BEGIN IMMEDIATE');
  return true;
}
