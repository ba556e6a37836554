import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { arbitraryWorld } from './arbitrary-world.ts';
import { compareWorld, type Difference, type Tally } from './compare-world.ts';
import type { EnginePair } from './engine-pair.ts';
import type { World } from './world.ts';

/** A world that the engines once answered differently, as small as it could be made. */
export interface CorpusEntry {
  /** What the difference was, once somebody knows. */
  readonly about: string;
  readonly seed: number;
  readonly world: World;
}

export interface Failure {
  readonly seed: number;
  readonly world: World;
  readonly difference: Difference;
}

export const corpusFile: URL = new URL('corpus.json', import.meta.url);

export function readCorpus(): readonly CorpusEntry[] {
  // Our own file, written by main.ts; an entry of another shape fails as one.
  return JSON.parse(readFileSync(corpusFile, 'utf8')) as readonly CorpusEntry[];
}

/** Making a table costs as much as a few dozen questions. */
const questionsPerWorld = 40;

/** Asks `cases` questions that `seed` makes; the first one with two answers ends it, with the world made as small as it can be. */
export async function runParity(
  engines: EnginePair,
  { cases, seed }: { readonly cases: number; readonly seed: number },
  tally: Tally,
): Promise<Failure | undefined> {
  const numRuns = Math.ceil(cases / questionsPerWorld);
  let found: Failure | undefined;
  const property = fc.asyncProperty(arbitraryWorld(questionsPerWorld), async (world) => {
    if (found !== undefined) return;
    const difference = await compareWorld(engines, world, tally);
    if (difference !== undefined)
      found = { seed, difference, world: { ...world, questions: [difference.question] } };
  });
  await fc.assert(property, { numRuns, seed });
  return found === undefined ? undefined : shrink(engines, found);
}

/** Fewer rows, fewer columns, a shorter question: whatever can go while the engines still differ. */
async function shrink(engines: EnginePair, failure: Failure): Promise<Failure> {
  let smallest = failure;
  for (;;) {
    let isSmaller = false;
    for (const world of smallerWorlds(smallest.world)) {
      const difference = await compareWorld(engines, world);
      if (difference === undefined) continue;
      smallest = { ...smallest, world, difference };
      isSmaller = true;
      break;
    }
    if (!isSmaller) return smallest;
  }
}

function* smallerWorlds(world: World): Generator<World> {
  const { columns, rows, questions } = world;
  for (const index of rows.keys()) yield { ...world, rows: rows.toSpliced(index, 1) };
  const [question = {}] = questions;
  for (const key of ['skipTotal', 'page', 'perPage', 'sort', 'filter'] as const) {
    const { [key]: dropped, ...rest } = question;
    if (dropped !== undefined) yield { ...world, questions: [rest] };
  }
  for (const part of question.filter?.split(/&&|\|\||[()]/) ?? []) {
    if (part.trim() !== '' && part !== question.filter)
      yield { ...world, questions: [{ ...question, filter: part.trim() }] };
  }
  const names = Object.keys(columns);
  for (const [index, name] of names.entries()) {
    if (Object.values(question).some((text) => text.includes(name))) continue;
    const { [name]: _, ...rest } = columns;
    yield { ...world, columns: rest, rows: rows.map((row) => row.toSpliced(index, 1)) };
  }
}
