/**
 * Sends random filters, sorts and fields through scanner, parser and compiler; exits with 1 at the first that makes anything
 * but SQL or a bad request.
 *
 *   npm run fuzz -- --inputs 1000000 --seed 7
 */
import { parseArgs } from 'node:util';
import { fuzzFilters } from './fuzz-filters.ts';

const { values } = parseArgs({
  options: { inputs: { type: 'string', default: '100000' }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const startedMs = performance.now();
const report = fuzzFilters({ inputs: Number(values.inputs), seed });
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
console.log(
  `seed ${seed}: ${report.inputs} inputs, ${report.accepted} understood, in ${seconds} s; the slowest took ${report.slowestMs.toFixed(1)} ms`,
);
console.log(report.slowest.slice(0, 400));
