import { AppError, type FieldError } from '../base/errors.ts';
import { type Caller, guest } from '../access/caller.ts';
import { parseRule } from '../access/rule.ts';
import { ruleInputOfCaller } from '../access/rule-input.ts';
import type { Names } from '../storage/database.ts';
import type { Collections } from '../collections/collection-store.ts';
import { type Collection, ruleNames, superusersName } from '../collections/collection.ts';
import type { ProblemList } from '../collections/member-reader.ts';
import { baseAlias, RecordScope } from '../query/record-scope.ts';

/**
 * Refuses every rule that does not compile ({@link ruleError}) before it is stored. One that the collection has already may go on comparing
 * dates with texts that are no times: other changes of the definition would be refused for it.
 */
export function checkRules(
  collection: Collection,
  { collections, names, existing, accounts }: RuleCheckContext,
  problems: ProblemList,
): void {
  const all = withCollection(collections, collection);
  const stored = new Set(existing === undefined ? [] : filterRules(existing).map(([, rule]) => rule));
  const problemOf = (rule: string | null): FieldError | undefined => {
    const isStored = rule !== null && stored.has(rule);
    const error = ruleError(rule, { collection, collections: all, names, isStored, accounts });
    if (error === undefined) return undefined;
    return { code: 'validation_invalid_rule', message: `Invalid rule. Raw error: ${error.message}` };
  };
  const { rules, auth } = collection;
  for (const [name, rule] of [
    ...ruleNames.map((name) => [name, rules[name]] as const),
    ['authRule', auth?.authRule ?? null] as const,
    ['manageRule', auth?.manageRule ?? null] as const,
  ]) {
    const problem = problemOf(rule);
    if (problem !== undefined) problems.add(name, problem);
  }
  const problem = problemOf(auth?.mfa.rule ?? null);
  if (problem !== undefined) problems.add('mfa', { rule: problem });
}

interface RuleCheckContext {
  readonly collections: Collections;
  readonly names: Names;
  /** The collection as it is stored, if it is. */
  readonly existing?: Collection | undefined;
  /** Those of `collections`, where many definitions are checked beside the same ones. */
  readonly accounts?: readonly AccountCollection[] | undefined;
}

/** A collection whose records sign in, as rules see it. */
export interface AccountCollection {
  readonly id: string;
  readonly fieldNames: ReadonlySet<string>;
}

/** Returns the collections whose records sign in. Superusers are left out, because they pass every rule. */
export function accountsOf(collections: Collections): readonly AccountCollection[] {
  const signingIn = collections.all().filter(({ type, name }) => type === 'auth' && name !== superusersName);
  return signingIn.map(({ id, fields }) => ({ id, fieldNames: new Set(fields.map(({ name }) => name)) }));
}

/** The rules of a collection that are filters, by name. */
export function filterRules({ rules, auth }: Collection): readonly (readonly [name: string, rule: string])[] {
  const all = [
    ...ruleNames.map((name) => [name, rules[name]] as const),
    ['authRule', auth?.authRule] as const,
    ['manageRule', auth?.manageRule] as const,
    ['mfa.rule', auth?.mfa.rule] as const,
  ];
  return all.flatMap(([name, rule]) => (rule ? [[name, rule] as const] : []));
}

/**
 * How many auth collections a rule is compiled for. An import of 1,000 collections that compiled each rule for all of them would
 * take minutes, in which no request is served.
 */
const accountsMax = 10;

/**
 * Returns the problem of a rule, if it has one. It is compiled as for a guest and, where it names `@request.auth`, as for accounts. It has to
 * compile for the accounts of one auth collection only, because it may be meant for just those.
 */
export function ruleError(
  rule: string | null,
  {
    collection,
    collections,
    names,
    isStored = false,
    accounts,
  }: {
    readonly collection: Collection;
    readonly collections: Collections;
    readonly names: Names;
    readonly isStored?: boolean;
    readonly accounts?: readonly AccountCollection[] | undefined;
  },
): AppError | undefined {
  if (rule === null || rule === '') return undefined;
  const errorFor = (caller: Caller): AppError | undefined => {
    try {
      const context = { collections, names, input: ruleInputOfCaller(caller), now: 0, isStored };
      new RecordScope(context, { collection, alias: baseAlias }).addRuleDraft(parseRule(rule));
      return undefined;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return error;
    }
  };
  const ofAccounts = accountsWithFields(rule, collections, accounts).map((caller) => errorFor(caller));
  const isForNone = ofAccounts.every((error) => error !== undefined);
  return errorFor(guest) ?? (isForNone ? ofAccounts[0] : undefined);
}

/**
 * Returns a caller for each auth collection that has the account fields which the rule names. The callers have no id: only the
 * fields of their collection count.
 */
function accountsWithFields(
  rule: string,
  collections: Collections,
  accounts: readonly AccountCollection[] | undefined,
): readonly Caller[] {
  const accountFields = [...rule.matchAll(/@request\.auth\.(\w+)/g)].map(([, name]) => name);
  if (accountFields.length === 0) return [];
  const hasAll = ({ fieldNames }: AccountCollection): boolean =>
    accountFields.every((name) => name !== undefined && fieldNames.has(name));
  const fitting = (accounts ?? accountsOf(collections)).filter(hasAll).slice(-accountsMax);
  return fitting.map(({ id }) => ({ kind: 'user', id: '', collectionId: id }));
}

/** Returns the collections with this one in its new form: a rule may be about its own collection. */
export function withCollection(collections: Collections, collection: Collection): Collections {
  return {
    find: (nameOrId) => {
      const isThis = nameOrId === collection.id || nameOrId.toLowerCase() === collection.name.toLowerCase();
      if (isThis) return collection;
      const other = collections.find(nameOrId);
      return other?.id === collection.id ? undefined : other;
    },
    all: () => [...collections.all().filter(({ id }) => id !== collection.id), collection],
  };
}
