/**
 * Takes guards out, one at a time, and says which of them no test would miss: `npm run mutants`, or `npm run mutants -- words` for
 * those whose names have these words. Exits 1 when one survives.
 */
import { mutants } from './mutants.ts';
import { MutantTree } from './run-mutants.ts';

// The tests that run are in groups of their own, and end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const words = process.argv.slice(2).join(' ');
const chosen = mutants.filter(({ name, file }) => `${name} ${file}`.includes(words));
const tree = new MutantTree();
let survivors = 0;
try {
  for (const mutant of chosen) {
    const startedMs = performance.now();
    const verdict = await tree.try(mutant);
    if (verdict !== 'killed') survivors += 1;
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    console.log(`${verdict.padEnd(8)} ${seconds.padStart(5)} s  ${mutant.name}`);
  }
} finally {
  tree.remove();
}
console.log(`\n${chosen.length - survivors} of ${chosen.length} mutants were killed`);
if (survivors > 0) process.exitCode = 1;
