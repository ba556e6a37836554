/**
 * Asks both engines the same random questions, after those of the corpus; exits with 1 at the first with two answers, which
 * is written to corpus.json as small as it could be made.
 *
 *   npm run parity -- --cases 100000 --seed 7
 *   npm run parity -- --only relations      or hidden, or tables, or functions
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compareCalls, type CallTally } from './compare-calls.ts';
import { compareWorld, type Tally } from './compare-world.ts';
import { openEnginePair, type EnginePair } from './engine-pair.ts';
import { compareRelatedWorld } from './compare-related-world.ts';
import { compareWithoutHidden } from './compare-without-hidden.ts';
import { corpusFile, readCorpus, runParity, type Failure } from './run-parity.ts';
import { makeRelatedTables } from './related-tables.ts';
import {
  readRelatedCorpus,
  relatedCorpusFile,
  runRelatedParity,
  runWithoutHidden,
} from './run-related-parity.ts';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '20000' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
});
const cases = Number(values.cases);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const engines = await openEnginePair();
const parts = { tables: runTables, functions: runCalls, relations: runRelations, hidden: runHidden } as const;
await makeRelatedTables(engines);
for (const [name, run] of Object.entries(parts)) {
  if (values.only !== undefined && values.only !== name) continue;
  if (await run(engines)) continue;
  process.exitCode = 1;
  break;
}
await Promise.all(engines.map((engine) => engine.stop()));

async function runTables(pair: EnginePair): Promise<boolean> {
  return (await runCorpus(pair)) && (await runSeed(pair));
}

async function runCorpus(pair: EnginePair): Promise<boolean> {
  const corpus = readCorpus();
  for (const { about, seed: its, world } of corpus) {
    const difference = await compareWorld(pair, world);
    if (difference === undefined) continue;
    console.log(`corpus: ${about || `seed ${its}`}`, difference);
    return false;
  }
  console.log(`${corpus.length} worlds of the corpus: alike`);
  return true;
}

async function runSeed(pair: EnginePair): Promise<boolean> {
  const tally: Tally = { questions: 0, refused: 0, telling: 0 };
  const startedMs = performance.now();
  const failure = await runParity(pair, { cases, seed }, tally);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(
    `seed ${seed}: ${tally.questions} questions (${tally.telling} select some of the rows, ${tally.refused} refused) in ${seconds} s`,
  );
  if (failure === undefined) return true;
  keep(failure);
  return false;
}

async function runCalls(pair: EnginePair): Promise<boolean> {
  const tally: CallTally = { values: 0, telling: 0 };
  const difference = await compareCalls(pair, { cases, seed }, tally);
  console.log(`seed ${seed}: ${tally.values} values of functions (${tally.telling} not empty)`);
  if (difference !== undefined) console.log(difference);
  return difference === undefined;
}

async function runRelations(pair: EnginePair): Promise<boolean> {
  return (await runRelatedCorpus(pair)) && runRelated(pair, runRelatedParity, 'select some of the records');
}

function runHidden(pair: EnginePair): Promise<boolean> {
  return runRelated(pair, runWithoutHidden, 'would be answered otherwise if all were listed');
}

async function runRelatedCorpus(pair: EnginePair): Promise<boolean> {
  for (const { about, world } of readRelatedCorpus()) {
    const difference = (await compareRelatedWorld(pair, world)) ?? (await compareWithoutHidden(pair, world));
    if (difference === undefined) continue;
    console.log(`corpus of relations: ${about}`, difference);
    return false;
  }
  return true;
}

async function runRelated(pair: EnginePair, run: typeof runRelatedParity, telling: string): Promise<boolean> {
  const tally: Tally = { questions: 0, refused: 0, telling: 0 };
  const failure = await run(pair, { cases, seed }, tally);
  console.log(
    `seed ${seed}: ${tally.questions} questions about relations (${tally.telling} ${telling}, ${tally.refused} refused)`,
  );
  if (failure === undefined) return true;
  const entry = { about: '', seed: failure.seed, world: failure.world };
  console.log(JSON.stringify(failure.world, undefined, 1), failure.difference);
  writeFileSync(relatedCorpusFile, `${JSON.stringify([...readRelatedCorpus(), entry], undefined, 2)}\n`);
  console.log('added to related-corpus.json');
  return false;
}

function keep({ seed: its, world, difference }: Failure): void {
  console.log(JSON.stringify(world, undefined, 1), difference);
  writeFileSync(
    corpusFile,
    `${JSON.stringify([...readCorpus(), { about: '', seed: its, world }], undefined, 2)}\n`,
  );
  console.log('added to corpus.json');
}
