import { GenerationCache } from '../base/cache.ts';
import { AppError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import {
  type Comparison,
  comparisonsOf,
  type FilterTree,
  type OperandNode,
  parseFilter,
} from '../filters/parse.ts';
import { scanToken } from '../filters/scan.ts';
import { type Caller, type ReachableCollection, reaches, requireReach } from './caller.ts';

/** A rule as a collection holds it: null admits superusers only, '' admits everyone, any other text is a filter. */
export type Rule = string | null;

/** The part of a collection that its rules need. */
export interface RuledCollection extends ReachableCollection {
  readonly rules: Readonly<Record<RuleName, Rule>>;
}

export type RuleName = 'listRule' | 'viewRule' | 'createRule' | 'updateRule' | 'deleteRule';

/**
 * Returns the rule that each record has to meet, or undefined where the caller is admitted to all of them. Superusers pass every rule,
 * API keys those of the collections that they reach. Throws `forbidden` where the caller is admitted to no record.
 */
export function admit(collection: RuledCollection, name: RuleName, caller: Caller): string | undefined {
  const rule = collection.rules[name];
  if (caller.kind === 'superuser') {
    requireReach(caller, collection);
    return undefined;
  }
  if (rule === null) throw new AppError('forbidden', 'Only superusers can perform this action.');
  return rule === '' ? undefined : rule;
}

/** Whether none of these rules admits the caller to any record. */
export function isLocked(collection: RuledCollection, names: readonly RuleName[], caller: Caller): boolean {
  if (caller.kind === 'superuser') return !reaches(caller, collection);
  return names.every((name) => collection.rules[name] === null);
}

/** Parsed rules of all collections of all instances in this process: nearly every request evaluates a rule, and rules hardly ever change. */
const parsedRules = new GenerationCache<string, FilterTree>(5_000);

/** Parses a rule, which is a filter. Throws a filter error. */
export function parseRule(rule: string): FilterTree {
  return parsedRules.findOrAdd(rule, parseFilter);
}

/** A comparison of a rule, as it was written. */
export interface RuleTerm {
  readonly text: string;
  /** Where it stands in the rule: UTF-16 units from 0. */
  readonly position: number;
  readonly tree: Comparison;
}

/** Returns the comparisons in a rule, in the order in which they are written. Throws a filter error. */
export function ruleTerms(rule: string): readonly RuleTerm[] {
  return comparisonsOf(parseRule(rule)).map((tree) => {
    return { text: comparisonText(rule, tree), position: tree.position, tree };
  });
}

/** Returns a comparison of a rule or a filter as it was written. */
export function comparisonText(rule: string, { position }: Comparison): string {
  return rule.slice(position, endOf(rule, position));
}

/** Returns a side of a comparison as it was written. */
export function operandText(rule: string, { position }: OperandNode): string {
  let end = position;
  let depth = 0;
  do {
    const token = scanToken(rule, end);
    if (token.kind === 'call') depth += 1;
    else if (token.kind === 'close') depth -= 1;
    end = token.end;
  } while (depth > 0);
  return rule.slice(position, end);
}

/**
 * Returns where the comparison that begins at `start` ends: behind its last token, before one that joins it to others or closes a
 * group around it.
 */
function endOf(rule: string, start: number): number {
  let end = start;
  for (let depth = 0; ;) {
    const token = scanToken(rule, end);
    if (token.kind === 'call') depth += 1;
    else if (depth === 0 && ['join', 'open', 'close', 'end'].includes(token.kind)) return end;
    else if (token.kind === 'close') depth -= 1;
    end = token.end;
  }
}

/**
 * A stored rule that no longer compiles because something it names was deleted or renamed. The message has nothing of the rule's
 * text, which names things that the caller may not know of.
 */
export class BrokenRule extends AppError {
  /** For the log, without a stack: anyone may repeat the request. */
  readonly forLog: { readonly collection: string; readonly reason: string };

  constructor(cause: AppError, collection: string) {
    super('broken_rule', 'Something went wrong while processing your request.', { cause });
    this.forLog = { collection, reason: cause.message };
  }
}

/**
 * Returns the result of `evaluate`, or `fallback` where its rule no longer compiles, as for callers whom it does not admit. For rules
 * that only extend an answer, which is returned without them.
 */
export async function unlessBroken<Result>(
  { logger }: { readonly logger: Logger },
  fallback: Result,
  evaluate: () => Promise<Result>,
): Promise<Result> {
  try {
    return await evaluate();
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error;
    logger.warn('A stored rule is invalid and now denies everyone.', error.forLog);
    return fallback;
  }
}
