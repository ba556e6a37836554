import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { arbitraryRelatedWorld, type RelatedAskers } from './arbitrary-related-world.ts';
import { compareRelatedWorld, type RelatedDifference } from './compare-related-world.ts';
import { compareWithoutHidden } from './compare-without-hidden.ts';
import type { Tally } from './compare-world.ts';
import type { EnginePair } from './engine-pair.ts';
import { relatedNames, type RelatedWorld } from './related-world.ts';

/** A world that the engines once answered differently, as small as it could be made. */
export interface RelatedCorpusEntry {
  readonly about: string;
  readonly seed: number;
  readonly world: RelatedWorld;
}

export interface RelatedFailure {
  readonly seed: number;
  readonly world: RelatedWorld;
  readonly difference: RelatedDifference;
}

export const relatedCorpusFile: URL = new URL('related-corpus.json', import.meta.url);

export function readRelatedCorpus(): readonly RelatedCorpusEntry[] {
  // Our own file, written by main.ts; an entry of another shape fails as one.
  return JSON.parse(readFileSync(relatedCorpusFile, 'utf8')) as readonly RelatedCorpusEntry[];
}

/** Filling the tables costs as much as a few dozen questions. */
const questionsPerWorld = 40;

interface Cases {
  readonly cases: number;
  readonly seed: number;
}

type Compare = typeof compareRelatedWorld;

/** As runParity, of related records; the tables are there. */
export function runRelatedParity(
  engines: EnginePair,
  cases: Cases,
  tally: Tally,
): Promise<RelatedFailure | undefined> {
  return runWorlds(engines, { ...cases, askers: 'everybody', compare: compareRelatedWorld }, tally);
}

/** As runRelatedParity: not whether the engines answer alike, but whether each does as if hidden records were deleted. */
export function runWithoutHidden(
  engines: EnginePair,
  cases: Cases,
  tally: Tally,
): Promise<RelatedFailure | undefined> {
  return runWorlds(engines, { ...cases, askers: 'clients', compare: compareWithoutHidden }, tally);
}

interface Run extends Cases {
  readonly askers: RelatedAskers;
  readonly compare: Compare;
}

async function runWorlds(
  engines: EnginePair,
  { cases, seed, askers, compare }: Run,
  tally: Tally,
): Promise<RelatedFailure | undefined> {
  let found: RelatedFailure | undefined;
  const property = fc.asyncProperty(arbitraryRelatedWorld(questionsPerWorld, askers), async (world) => {
    if (found !== undefined) return;
    const difference = await compare(engines, world, tally);
    if (difference !== undefined)
      found = { seed, difference, world: { ...world, questions: [difference.question] } };
  });
  await fc.assert(property, { numRuns: Math.ceil(cases / questionsPerWorld), seed });
  return found === undefined ? undefined : shrink(engines, found, compare);
}

/** Fewer rows, open lists, a shorter question: whatever can go while the answers still differ. */
async function shrink(
  engines: EnginePair,
  failure: RelatedFailure,
  compare: Compare,
): Promise<RelatedFailure> {
  let smallest = failure;
  for (;;) {
    let isSmaller = false;
    for (const world of smallerWorlds(smallest.world)) {
      const difference = await compare(engines, world);
      if (difference === undefined) continue;
      smallest = { ...smallest, world, difference };
      isSmaller = true;
      break;
    }
    if (!isSmaller) return smallest;
  }
}

function* smallerWorlds(world: RelatedWorld): Generator<RelatedWorld> {
  const { rows, rules, questions } = world;
  for (const name of relatedNames) {
    for (const index of rows[name].keys())
      yield { ...world, rows: { ...rows, [name]: rows[name].toSpliced(index, 1) } };
    if (rules[name] !== '') yield { ...world, rules: { ...rules, [name]: '' } };
  }
  const [question] = questions;
  if (question === undefined) return;
  for (const key of ['page', 'perPage', 'cursor', 'sort', 'filter'] as const) {
    const { [key]: dropped, ...rest } = question;
    if (dropped !== undefined) yield { ...world, questions: [rest] };
  }
  for (const part of question.filter?.split(/ && | \|\| /) ?? []) {
    const filter = part.replace(/^\((?!.*\))|(?<!\(.*)\)$/, '');
    if (filter !== question.filter) yield { ...world, questions: [{ ...question, filter }] };
  }
}
