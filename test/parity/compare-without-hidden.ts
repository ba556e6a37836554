import { askForIds, askForJson, refusalOf } from './ask-related.ts';
import type { RelatedDifference } from './compare-related-world.ts';
import type { Tally } from './compare-world.ts';
import type { EnginePair, ParityEngine } from './engine-pair.ts';
import { fillRelatedTables, keepOnly } from './related-tables.ts';
import {
  relatedNames,
  type RelatedCaller,
  type RelatedName,
  type RelatedQuestion,
  type RelatedRules,
  type RelatedWorld,
} from './related-world.ts';

/**
 * What a caller may not list is absent (http-api A22): every answer is, byte for byte, the one that is given when all records which
 * the caller may not list are deleted, while the relations that lead to them stay as they are. Returns the first question of
 * which this is not true on an engine.
 */
export async function compareWithoutHidden(
  engines: EnginePair,
  world: RelatedWorld,
  tally: Tally = { questions: 0, refused: 0, telling: 0 },
): Promise<RelatedDifference | undefined> {
  const callers = new Set(world.questions.map(({ caller }) => caller));
  // Superusers list everything.
  callers.delete('superuser');
  for (const caller of callers) {
    const questions = world.questions.filter((question) => question.caller === caller);
    const found = await Promise.all(
      engines.map((engine) => compareFor(engine, { ...world, questions }, { caller, tally })),
    );
    const difference = found.find((one) => one !== undefined);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

interface Asking {
  readonly caller: RelatedCaller;
  readonly tally: Tally;
}

async function compareFor(
  engine: ParityEngine,
  world: RelatedWorld,
  { caller, tally }: Asking,
): Promise<RelatedDifference | undefined> {
  await fillRelatedTables(engine, world);
  const { rules, listed } = await listEverything(engine, world, caller);
  const hidden = await answersOf(engine, rules, world.questions);
  const shown = await answersOf(engine, { ...opened(rules), posts: rules.posts }, world.questions);
  for (const name of relatedNames) await keepOnly(engine, name, listed[name]);
  const deleted = await answersOf(engine, opened(rules), world.questions);
  for (const [index, question] of world.questions.entries()) {
    const [before = '', after = ''] = [hidden[index], deleted[index]];
    // Both engines count.
    tally.questions += 0.5;
    if (before.startsWith('refused')) tally.refused += 0.5;
    // If the hidden records could be listed, the answer would be another.
    else if (before !== shown[index]) tally.telling += 0.5;
    if (before !== after || before.startsWith('failed'))
      return {
        question,
        answers: { [`${engine.engine}, hidden`]: before, [`${engine.engine}, deleted`]: after },
      };
  }
  return undefined;
}

type Listed = Readonly<Record<RelatedName, readonly string[]>>;

/** Returns the rules, without those that do not compile, and by them the records that the caller may list. */
async function listEverything(
  engine: ParityEngine,
  world: RelatedWorld,
  caller: RelatedCaller,
): Promise<{ readonly rules: RelatedRules; readonly listed: Listed }> {
  const rules = { ...world.rules };
  const listed: Record<RelatedName, readonly string[]> = {
    teams: [],
    people: [],
    posts: [],
    comments: [],
    notes: [],
  };
  for (const name of relatedNames) {
    const ask = async (): Promise<readonly string[]> =>
      (await askForIds(engine, { name, rules, question: { caller, perPage: '1000' } })).ids;
    try {
      listed[name] = rules[name] === null ? [] : await ask();
    } catch (error) {
      if (refusalOf(error) === undefined) throw error;
      rules[name] = '';
      listed[name] = await ask();
    }
  }
  return { rules, listed };
}

/** All that is left may be listed. */
function opened(rules: RelatedRules): RelatedRules {
  const open = (rule: string | null): string | null => (rule === null ? null : '');
  const { teams, people, posts, comments, notes } = rules;
  return {
    teams: open(teams),
    people: open(people),
    posts: open(posts),
    comments: open(comments),
    notes: open(notes),
  };
}

async function answersOf(
  engine: ParityEngine,
  rules: RelatedRules,
  questions: readonly RelatedQuestion[],
): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const question of questions) answers.push(await describeAnswer(engine, rules, question));
  return answers;
}

async function describeAnswer(
  engine: ParityEngine,
  rules: RelatedRules,
  question: RelatedQuestion,
): Promise<string> {
  try {
    return (await askForJson(engine, { name: 'posts', rules, question })).join('\n');
  } catch (error) {
    const refusal = refusalOf(error);
    return refusal === undefined ? `failed: ${String(error)}` : `refused: ${refusal}`;
  }
}
