import { AppError } from '../../base/errors.ts';
import { always, never } from '../../filters/compile/compile.ts';
import type { Sql } from '../../sql/sql.ts';
import {
  filterCondition,
  filterProblem,
  hasConditions,
  ownerCondition,
} from '../../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { evaluateConditions, type ChangeQuery, conditionContext } from './change-query.ts';
import type { FalseComparison, Reason } from './explanation.ts';
import { falseComparisons } from './false-comparisons.ts';

/** The result of the conditions of an endpoint for a change. */
export interface Verdict {
  /** Undefined where the change meets them. */
  readonly reason: Reason | undefined;
  readonly isOfNow: boolean;
  readonly comparisons: readonly FalseComparison[];
}

/** The time of a statement about one endpoint, after one about several has taken too long. */
const aloneMs = 250;

const unknown: Verdict = { reason: 'unknown', isOfNow: false, comparisons: [] };

/**
 * Evaluates the current conditions of some endpoints again, for the record after the change and before it. Related records, and
 * the access of an owner, are those of now. What takes too long is unknown.
 */
export async function explainConditions(
  query: ChangeQuery,
  endpoints: readonly Endpoint[],
): Promise<ReadonlyMap<Endpoint, Verdict>> {
  const questions = endpoints.map((endpoint) => questionOf(query, endpoint));
  const open = questions.filter(({ verdict }) => verdict === undefined);
  const answers = await evaluateTogether(query, open);
  const verdicts = new Map<Endpoint, Verdict>();
  for (const question of questions) {
    const { endpoint, verdict } = question;
    const answer = answers.get(question);
    verdicts.set(
      endpoint,
      verdict ?? (answer === undefined ? unknown : await conclude(query, question, answer)),
    );
  }
  return verdicts;
}

interface Question {
  readonly endpoint: Endpoint;
  /** Set where it follows without a statement. */
  readonly verdict?: Verdict;
  readonly owner: Sql;
  readonly filter: Sql;
}

interface Answer {
  readonly isOwners: boolean;
  readonly isMet: boolean;
}

/** Whether a filter compares the previous state. */
const asksBefore = /@old\.|:changed\b/;

function questionOf(query: ChangeQuery, endpoint: Endpoint): Question {
  const { collection, change } = query;
  const withVerdict = (reason: Reason | undefined): Question => ({
    endpoint,
    verdict: { reason, isOfNow: false, comparisons: [] },
    owner: always,
    filter: always,
  });
  if (!hasConditions(endpoint)) return withVerdict(undefined);
  const context = conditionContext(query);
  const owner =
    endpoint.owner === '' ? always : (ownerCondition(endpoint.owner, collection, context) ?? never);
  const filter = endpoint.filter === '' ? always : filterCondition(endpoint, collection, context);
  if (!(filter instanceof AppError)) {
    if (change.before === undefined && asksBefore.test(endpoint.filter)) return withVerdict('state-trimmed');
    return { endpoint, owner, filter };
  }
  // As in `endpointCondition`: one that can be used nowhere leaves nothing out.
  const isBroken = endpoint.collections.length > 0 || filterProblem(endpoint, context) !== undefined;
  return isBroken ? { endpoint, owner, filter: always } : withVerdict('filter-unfit');
}

async function evaluateTogether(
  query: ChangeQuery,
  questions: readonly Question[],
): Promise<ReadonlyMap<Question, Answer>> {
  const answers = new Map<Question, Answer>();
  const evaluate = async (some: readonly Question[], timeoutMs?: number): Promise<boolean> => {
    const results = await evaluateConditions(
      query,
      some.flatMap(({ owner, filter }) => [owner, filter]),
      timeoutMs,
    );
    if (results === undefined) return false;
    for (const [index, question] of some.entries())
      answers.set(question, {
        isOwners: results[2 * index] === true,
        isMet: results[2 * index + 1] === true,
      });
    return true;
  };
  if (questions.length === 0 || (await evaluate(questions))) return answers;
  for (const question of questions) if (query.budget.leftMs() > 0) await evaluate([question], aloneMs);
  return answers;
}

async function conclude(
  query: ChangeQuery,
  { endpoint, filter }: Question,
  { isOwners, isMet }: Answer,
): Promise<Verdict> {
  if (!isOwners) return { reason: 'owner', isOfNow: true, comparisons: [] };
  const isOfNow = endpoint.owner !== '' || filter.tables.length > 0;
  if (isMet) return { reason: undefined, isOfNow, comparisons: [] };
  const comparisons = await falseComparisons(query, endpoint);
  return { reason: 'filter', isOfNow: comparisons.some((one) => one.isOfNow), comparisons };
}
