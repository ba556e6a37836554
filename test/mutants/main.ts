/**
 * Takes guards out, one per processor at a time, and says which of them no test would miss: `npm run mutants`, or
 * `npm run mutants -- words` for those whose names have these words. Exits 1 when one survives,
 * and when its tests fail on the tree as it is.
 */
import { availableParallelism } from 'node:os';
import { globalSetup, globalTeardown } from '../support/run-setup.ts';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import { MutantTree, type Verdict } from './run-mutants.ts';

// The tests that run are in groups of their own, and end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const words = process.argv.slice(2).join(' ');
const chosen = mutants.filter(({ name, file }) => `${name} ${file}`.includes(words));
const waiting = chosen.values();
const survivors: string[] = [];
let done = 0;

/** What becomes of the unchanged tree, by the tests that are run. */
const unchanged = new Map<string, Promise<Verdict>>();

async function verdictOn(tree: MutantTree, mutant: Mutant): Promise<string> {
  const tests = `${mutant.engine ?? ''} ${mutant.tests.join(' ')}`;
  if (!unchanged.has(tests)) unchanged.set(tests, tree.tryUnchanged(mutant));
  return (await unchanged.get(tests)) === 'survived' ? tree.try(mutant) : 'unsound';
}

async function tryInTree(): Promise<void> {
  const tree = new MutantTree();
  try {
    for (const mutant of waiting) {
      const startedMs = performance.now();
      const verdict = await verdictOn(tree, mutant);
      if (verdict !== 'killed') survivors.push(`${verdict} ${mutant.name}`);
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      done += 1;
      console.log(
        `${verdict.padEnd(8)} ${seconds.padStart(5)} s  ${mutant.name} (${done} of ${chosen.length})`,
      );
    }
  } finally {
    tree.remove();
  }
}

await globalSetup();
try {
  await Promise.all(Array.from({ length: availableParallelism() }, tryInTree));
} finally {
  await globalTeardown();
}
console.log(`\n${chosen.length - survivors.length} of ${chosen.length} mutants were killed`);
for (const survivor of survivors) console.log(survivor);
if (survivors.length > 0) process.exitCode = 1;
