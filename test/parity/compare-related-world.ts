import { askForIds, refusalOf } from './ask-related.ts';
import type { Tally } from './compare-world.ts';
import type { EnginePair, ParityEngine } from './engine-pair.ts';
import { fillRelatedTables } from './related-tables.ts';
import type { RelatedQuestion, RelatedWorld } from './related-world.ts';

/** A question with two answers. */
export interface RelatedDifference {
  readonly question: RelatedQuestion;
  readonly answers: Readonly<Record<string, string>>;
}

/** The first question that the engines answer differently. An error of an engine is an answer, and never the same as another. */
export async function compareRelatedWorld(
  engines: EnginePair,
  world: RelatedWorld,
  tally: Tally = { questions: 0, refused: 0, telling: 0 },
): Promise<RelatedDifference | undefined> {
  await Promise.all(engines.map((engine) => fillRelatedTables(engine, world)));
  const [sqlite, postgres] = engines;
  for (const question of world.questions) {
    const [ours, theirs] = await Promise.all([
      describeAnswer(sqlite, world, question),
      describeAnswer(postgres, world, question),
    ]);
    tally.questions += 1;
    if (ours.startsWith('refused')) tally.refused += 1;
    else if (/^\w\d/.test(ours)) tally.telling += 1;
    if (ours !== theirs || ours.startsWith('failed'))
      return { question, answers: { sqlite: ours, postgres: theirs } };
  }
  return undefined;
}

async function describeAnswer(
  engine: ParityEngine,
  { rows, rules }: RelatedWorld,
  question: RelatedQuestion,
): Promise<string> {
  try {
    const { ids, totals } = await askForIds(engine, { name: 'posts', rules, question });
    const isTelling = ids.length > 0 && ids.length < rows.posts.length;
    return `${isTelling ? '' : 'all or nothing: '}${ids.join(' ')} of ${totals}`;
  } catch (error) {
    const refusal = refusalOf(error);
    return refusal === undefined ? `failed: ${String(error)}` : `refused: ${refusal}`;
  }
}
