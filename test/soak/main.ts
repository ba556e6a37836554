/**
 * `npm run soak -- --minutes N [--postgres] [--seed S] [--out FOLDER]`: a service under mixed load for as long as it is asked to be, with faults.
 *
 * Writers, readers, searches and realtime clients use two instances; receivers answer, fail, hang and are gone; owners change endpoints; the
 * server is killed every few minutes of the first half, and left alone in the second. Memory, descriptors, size of the log, longest turn and
 * backlog are sampled and held against the bounds of bounds.ts, as is how long the backlog takes to drain, and at the end every acknowledged change against every webhook that arrived, as
 * by `npm run faults -- webhooks`. Writes `soak.json` and `soak.svg` to the folder, and exits with 1 if anything is not as promised.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCommit } from '../../tools/build/read-commit.ts';
import { plotOf } from './plot.ts';
import { soakRun } from './soak-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    postgres: { type: 'boolean', default: false },
    seed: { type: 'string' },
    out: { type: 'string', default: 'soak' },
  },
});
/** All that is received and all that is written is kept in the memory of this process. */
const minutesMax = 240;
const minutes = Number(values.minutes);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!(minutes > 0 && minutes <= minutesMax) || !Number.isInteger(seed)) {
  console.error(
    `expected: npm run soak -- [--minutes 0–${minutesMax}] [--postgres] [--seed S] [--out FOLDER]`,
  );
  process.exit(2);
}
const engine = values.postgres ? 'postgres' : 'sqlite';
console.log(`${minutes} minutes on ${engine}, seed ${seed}`);
const commit = readCommit()?.name;
const { samples, violations, usage, ...figures } = await soakRun({
  engine,
  seed,
  durationMs: minutes * 60_000,
  onSample: ({ atMs, ...sample }) => console.log(`${Math.round(atMs / 1_000)} s`, JSON.stringify(sample)),
});
mkdirSync(values.out, { recursive: true });
const run = { engine, seed, minutes, commit, endedAt: new Date().toISOString() };
writeFileSync(
  join(values.out, 'soak.json'),
  JSON.stringify({ ...run, ...figures, usage, violations, samples }),
);
writeFileSync(join(values.out, 'soak.svg'), plotOf(samples));
console.log({ ...run, ...figures, usage });
console.log(`${join(values.out, 'soak.svg')} shows all samples`);
for (const violation of violations.slice(0, 40)) console.error(violation);
console.log(violations.length === 0 ? 'everything is as promised' : `${violations.length} violations`);
process.exitCode = violations.length === 0 ? 0 : 1;
