/**
 * `npm run bench -- create|view|list|deliver|all [--runs 5] [--seconds 3] [--rows 100000] [--postgres URL]`: how far from the physical limit is
 * it? Each question is measured against its ceiling in the same run, in turns. Traffic goes to loopback only.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { create } from './create.ts';
import { deliver } from './deliver.ts';
import { list } from './list.ts';
import type { BenchOptions } from './support/options.ts';
import { view } from './view.ts';

const questions = new Map(Object.entries({ create, view, list, deliver }));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '100000' },
    postgres: { type: 'string' },
  },
});
const options: BenchOptions = {
  runs: Number(values.runs),
  seconds: Number(values.seconds),
  rows: Number(values.rows),
  postgres: values.postgres,
};
const [asked = 'all'] = positionals;
const chosen = asked === 'all' ? [...questions.keys()] : [asked];
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
process.exit(0);
