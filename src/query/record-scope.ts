import { type Caller, type NameScope, nameScope, reaches } from '../access/caller.ts';
import { BrokenRule, parseRule } from '../access/rule.ts';
import { AppError } from '../base/errors.ts';
import type { CollectionFinder, Collections } from '../collections/collection-store.ts';
import type { Collection } from '../collections/collection.ts';
import { allOf, compileFilter } from '../filters/compile/compile.ts';
import type { Dialect } from '../filters/dialect.ts';
import { filterLimits } from '../filters/filter-error.ts';
import type { Misuse, Operand, Resolve } from '../filters/operand.ts';
import { comparisonsOf, type FilterTree } from '../filters/parse.ts';
import type { FilterContext, FilterSlots } from '../filters/compile/resolve.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import type { ConditionRequest } from './condition-request.ts';
import type { ListScope } from './list-source.ts';
import { findPath, type Path, type Step, withoutViews } from './path.ts';
import type { PlanSlots } from './plan-slots.ts';
import { resolveRequest } from './request-names.ts';

/** What all conditions of one statement share. */
export interface ScopeContext extends ConditionRequest {
  readonly collections: CollectionFinder;
  readonly names: Names;
  /** For a statement that is kept for other requests. */
  readonly slots?: PlanSlots | undefined;
  /**
   * Where the condition is about a change: the alias of the row with the values before it, which `@old.` and `:changed` name. There is no
   * request then.
   */
  readonly before?: Sql;
  /** Whether the condition was stored before, see FilterContext. Rules are. */
  readonly isStored?: FilterContext['isStored'];
}

/** The records a condition is about: their collection, and the alias of their table in the statement. */
export interface Base {
  readonly collection: Collection;
  readonly alias: Sql;
}

/** The default alias of the table whose records a condition is about. */
export const baseAlias: Sql = identifier('$0');

interface ScopeOptions {
  /** `all`: joins to many rows as well, for a statement that selects joined rows. */
  readonly joinsOutside?: boolean | 'all';
  /** Shared by scopes of one statement, so that no two joins have the same alias. */
  readonly counter?: { next: number };
  /** For rows that are made of the bodies of events, which have only the visible fields for every caller. */
  readonly isOfBodies?: boolean;
}

interface AddOptions extends Pick<ScopeContext, 'isStored'> {
  readonly slots: FilterSlots | undefined;
}

interface JoinOptions {
  readonly from: Sql;
  readonly to: Sql;
  readonly isInside: boolean;
  readonly nameScope: NameScope;
}

/** What goes into one FROM and its WHERE. */
interface Part {
  readonly joins: Sql[];
  readonly conditions: Sql[];
}

const none = sql``;

/** Aliases by number. Each is the same object every time, so that templates find their cached text. */
const aliases: Sql[] = [];

interface JoinedRow {
  readonly alias: Sql;
  /** Whether it is joined inside an EXISTS, or else in the statement itself. */
  readonly isInside: boolean;
}

/**
 * The conditions on one table's rows, with the joins they need. Names that begin alike share their joins, so that
 * `members.user ?= "a" && members.role ?= "b"` is about one member.
 *
 *   SELECT … FROM base LEFT JOIN tables with at most one row … WHERE conditions
 *     AND EXISTS (SELECT 1 FROM tables with several rows … WHERE conditions on these)
 *
 * No row of the base comes twice, so that nothing needs DISTINCT and totals are right.
 *
 * Rules may name everything. What a filter or a sort may name follows from the caller who has written it (`nameScope`), and from nothing else:
 * one who may only list finds no hidden fields, and joins only records that the caller may list, as if all others were absent (http-api A22).
 * Such a filter shares no join with a rule, and has an EXISTS of its own.
 */
export class RecordScope {
  readonly #context: ScopeContext;
  readonly #dialect: Dialect;
  readonly #base: Base;
  readonly #joinsOutside: boolean | 'all';
  readonly #counter: { next: number };
  readonly #places = new Map<string, JoinedRow>();
  readonly #outside: Part = { joins: [], conditions: [] };
  readonly #inside: Readonly<Record<NameScope, Part>> = {
    everything: { joins: [], conditions: [] },
    listed: { joins: [], conditions: [] },
    own: { joins: [], conditions: [] },
  };
  /** What the caller's own filters and sorts may name. */
  readonly #filterScope: NameScope;
  /** Comparisons and joins of the list rules that are in joins. */
  #rulesSize = 0;
  /** Whether a name in the condition that is being compiled needs a row from inside an EXISTS. */
  #isInside = false;
  #leadsElsewhere = false;

  constructor(context: ScopeContext, base: Base, options: ScopeOptions = {}) {
    const reachable = reachableCollections(context.collections, context.input.caller);
    const collections = base.collection.type === 'view' ? reachable : withoutViews(reachable);
    this.#context = collections === context.collections ? context : { ...context, collections };
    this.#dialect = context.names.dialect;
    this.#base = base;
    this.#joinsOutside = options.joinsOutside ?? false;
    this.#counter = options.counter ?? { next: 1 };
    this.#filterScope = options.isOfBodies === true ? 'own' : nameScope(context.input.caller);
  }

  /** Adds a filter of the caller, which every row has to meet. Throws a filter error. */
  addFilter(tree: FilterTree): void {
    const { slots, isStored } = this.#context;
    this.#add(tree, this.#filterScope, { slots, isStored });
  }

  /** Adds a rule that need not be stored yet. Throws a filter error. */
  addRuleDraft(tree: FilterTree): void {
    const { slots, isStored } = this.#context;
    this.#add(tree, 'everything', { slots: slots?.ofRules, isStored });
  }

  #add(tree: FilterTree, scope: NameScope, { slots, isStored = false }: AddOptions): void {
    const { now } = this.#context;
    const context = {
      resolve: this.#resolver(scope),
      dialect: this.#dialect,
      now,
      isStored,
      ...(slots !== undefined && { slots }),
    };
    for (const conjunct of conjunctsOf(tree)) {
      this.#isInside = false;
      const condition = compileFilter(conjunct, context);
      const part = this.#isInside ? this.#inside[scope] : this.#outside;
      part.conditions.push(condition);
    }
  }

  /** Adds a stored rule. It compiled when it was saved; throws broken_rule when it no longer does. */
  addRule(rule: FilterTree): void {
    try {
      this.#add(rule, 'everything', { slots: this.#context.slots?.ofRules, isStored: true });
    } catch (error) {
      throw error instanceof AppError ? new BrokenRule(error, this.#base.collection.name) : error;
    }
  }

  /** Resolves the names in the caller's sort. */
  get resolve(): Resolve {
    return this.#resolver(this.#filterScope);
  }

  /** Resolves names as a rule does. */
  get resolveRule(): Resolve {
    return this.#resolver('everything');
  }

  #resolver(scope: NameScope): Resolve {
    return (name, isAny) => this.#resolve(name, scope, isAny ?? false);
  }

  /** Returns the scope of a list with a filter of the caller. */
  forList(): ListScope {
    return {
      conditionWith: (filter) => {
        if (filter !== undefined) this.addFilter(filter);
        return this.condition;
      },
      joins: () => this.joins,
    };
  }

  /** Whether a name leads to records of another collection, or to others of the same one. */
  get leadsElsewhere(): boolean {
    return this.#leadsElsewhere;
  }

  /** What stands behind the base table in FROM: empty, or with a blank before it. */
  get joins(): Sql {
    const { joins } = this.#outside;
    return joins.length === 0 ? none : sql` ${joinSql(joins, ' ')}`;
  }

  /** All conditions together, or undefined where there are none. */
  get condition(): Sql | undefined {
    const all = [...this.#outside.conditions];
    for (const { joins, conditions } of Object.values(this.#inside)) {
      if (conditions.length === 0) continue;
      const from = joinSql([sql`(SELECT 1) AS ${this.#nextAlias()}`, ...joins], ' ');
      all.push(sql`EXISTS (SELECT 1 FROM ${from} WHERE ${joinSql(conditions, ' AND ')})`);
    }
    return all.length === 0 ? undefined : allOf(all);
  }

  #resolve(name: string, scope: NameScope, isAny: boolean): ReturnType<Resolve> {
    const { collections, names, slots, before } = this.#context;
    const mayUseHidden = scope === 'everything';
    const context = { collections, names, dialect: this.#dialect, mayUseHidden, isAny, slots };
    const { collection } = this.#base;
    if (before !== undefined && name.startsWith('@')) {
      // The owner of an endpoint may not have seen the record as it was.
      if (!name.startsWith('@old.') || scope === 'listed') return undefined;
      const [path = '', modifier, ...more] = name.slice('@old.'.length).split(':');
      const resolution =
        more.length > 0 ? undefined : findPath(context, collection, { segments: path.split('.'), modifier });
      return isPath(resolution) ? this.#walk(resolution, scope, before) : resolution;
    }
    if (mayUseHidden && name.startsWith('@')) {
      const request = this.#context;
      const resolution = resolveRequest(name, { ...context, request, collection, alias: this.#base.alias });
      return isPath(resolution) ? this.#walk(resolution, scope) : resolution;
    }
    const [path = '', modifier, ...more] = name.split(':');
    if (more.length > 0) return undefined;
    const resolution = findPath({ ...context, before }, collection, { segments: path.split('.'), modifier });
    if (!isPath(resolution)) return resolution;
    return this.#walk(resolution, scope);
  }

  /** Returns the value at the end of a path that begins at the row of this alias. */
  #walk(path: Path, scope: NameScope, start = this.#base.alias): Operand | Misuse | undefined {
    const reached = [...path.steps, ...(path.counted === undefined ? [] : [path.counted])];
    if (scope === 'own' && reached.some(({ collection }) => collection !== undefined)) return undefined;
    const locked = reached.find(({ collection }) => collection?.rules.listRule === null)?.collection;
    if (scope === 'listed' && locked !== undefined) {
      return {
        kind: 'misuse',
        problem: `Expected a relation to records that you may list, not to "${locked.name}",`,
      };
    }
    let place: JoinedRow = { alias: start, isInside: false };
    const last = path.isApart === true ? path.steps.at(-1) : undefined;
    for (const step of last === undefined ? path.steps : path.steps.slice(0, -1)) {
      const next = this.#join(place, step, scope);
      if ('kind' in next) return next;
      place = next;
    }
    this.#isInside ||= place.isInside;
    this.#leadsElsewhere ||= path.steps.some(({ collection }) => collection !== undefined);
    if (last !== undefined) return this.#apart(path, last, { place, scope });
    const { isNeverNull, ...operand } = this.#leaf(path, { from: place.alias, scope });
    if (path.steps.length === 0) return isNeverNull === true ? { ...operand, isNeverNull } : operand;
    const many = path.steps.some(({ hasMany }) => hasMany) ? this.#all(path, { scope, start }) : undefined;
    if (this.#rulesSize > filterLimits.listRulesSizeMax) {
      return {
        kind: 'misuse',
        problem: `Expected at most ${filterLimits.listRulesSizeMax} comparisons and relations in the list rules of related collections; more`,
      };
    }
    return { ...operand, ...(many && { many }) };
  }

  #join(from: JoinedRow, step: Step, scope: NameScope): JoinedRow | Misuse {
    const key = `${scope} ${from.alias.text} ${step.key}`;
    const current = this.#places.get(key);
    if (current !== undefined) return current;
    if (this.#places.size === filterLimits.joinsMax) {
      return {
        kind: 'misuse',
        problem: `Expected at most ${filterLimits.joinsMax} related collections; more`,
      };
    }
    const areOutside = this.#joinsOutside === 'all';
    const isInside = !areOutside && (from.isInside || step.hasMany || !this.#joinsOutside);
    const place = { alias: this.#nextAlias(), isInside };
    this.#places.set(key, place);
    const part = isInside ? this.#inside[scope] : this.#outside;
    // Without a table that is listed, only joins take time.
    const joined = { from: from.alias, to: place.alias, isInside: isInside || areOutside, nameScope: scope };
    part.joins.push(this.#leftJoin(step, joined));
    return place;
  }

  /** Returns the values of a list in a joined row, without joining them to it. */
  #apart(
    { leaf }: Path,
    step: Step,
    { place, scope }: { readonly place: JoinedRow; readonly scope: NameScope },
  ): Operand {
    const one = this.#nextAlias();
    const to = this.#nextAlias();
    const operand = leaf(to);
    const join = this.#leftJoin(step, { from: place.alias, to, isInside: true, nameScope: scope });
    return { ...operand, apart: { rows: sql`(SELECT 1) AS ${one} ${join}`, operand } };
  }

  /** Returns the value in a row at the end of a path, which may be a count of the rows that the row leads to. */
  #leaf(
    { leaf, counted }: Path,
    { from, scope }: { readonly from: Sql; readonly scope: NameScope },
  ): Operand {
    if (counted === undefined) return leaf(from);
    const one = this.#nextAlias();
    const to = this.#nextAlias();
    const { sql: count, kind } = leaf(to);
    const join = this.#leftJoin(counted, { from, to, isInside: true, nameScope: scope });
    return { sql: sql`(SELECT ${count} FROM (SELECT 1) AS ${one} ${join})`, kind };
  }

  /** Joins the path again under aliases of its own, to all rows at its end that its author may know of. */
  #all(
    path: Path,
    { scope, start }: { readonly scope: NameScope; readonly start: Sql },
  ): NonNullable<Operand['many']> {
    const rows: Sql[] = [sql`(SELECT 1) AS ${this.#nextAlias()}`];
    let from = start;
    for (const step of path.steps) {
      const to = this.#nextAlias();
      rows.push(this.#leftJoin(step, { from, to, isInside: true, nameScope: scope }));
      from = to;
    }
    const { isNeverNull: _, ...operand } = this.#leaf(path, { from, scope });
    return { rows: joinSql(rows, ' '), operand };
  }

  /**
   * Returns the join for a step. Inside an EXISTS a joined table may be read row by row and be as large as the listed one, so the
   * query timeout is checked there, too. For a caller who may only list, the join has the list rule, so that other records are absent.
   */
  #leftJoin(step: Step, { from, to, isInside, nameScope: scope }: JoinOptions): Sql {
    const { source, on } = step.join(from, to);
    const isSearched = isInside && step.collection !== undefined;
    const position = sql`${to}."$position"`;
    const isInTime = isSearched ? this.#context.names.isInTime(position, 'for every row') : undefined;
    const isListed = scope === 'listed' ? this.#listRule(step, to) : undefined;
    const all = [on, isInTime, isListed].filter((part) => part !== undefined);
    return sql`LEFT JOIN ${source} ON ${joinSql(all, ' AND ')}`;
  }

  /** Returns the condition that the caller may list the record to which a step leads; undefined where everybody may list all. */
  #listRule({ collection }: Step, alias: Sql): Sql | undefined {
    const listRule = collection?.rules.listRule ?? '';
    if (collection === undefined || listRule === '') return undefined;
    const rule = parseRule(listRule);
    const first = this.#counter.next;
    // The rule is about the stored related record and about the caller.
    const { before: _, ...context } = this.#context;
    const scope = new RecordScope(context, { collection, alias }, { counter: this.#counter });
    scope.addRule(rule);
    const { condition } = scope;
    this.#rulesSize += comparisonsOf(rule).length + this.#counter.next - first;
    return condition;
  }

  #nextAlias(): Sql {
    const number = this.#counter.next;
    this.#counter.next += 1;
    return (aliases[number] ??= identifier(`$${number}`));
  }
}

/** Returns the conditions that all have to hold. Each is placed where its joins are. */
function conjunctsOf(tree: FilterTree): readonly FilterTree[] {
  return tree.kind === 'and' ? tree.items.flatMap(conjunctsOf) : [tree];
}

function isPath(resolution: ReturnType<Resolve> | Path): resolution is Path {
  return typeof resolution === 'object' && resolution !== null && 'leaf' in resolution;
}

/**
 * Returns the collections that the caller can reach. For an API key that is bound to some, the others do not exist: neither their
 * records nor the names of their fields, whichever way a path leads to them.
 */
export function reachableCollections(collections: CollectionFinder, caller: Caller): CollectionFinder {
  if (caller.kind !== 'superuser' || caller.key === undefined) return collections;
  return {
    find: (nameOrId) => {
      const collection = collections.find(nameOrId);
      return collection !== undefined && reaches(caller, collection) ? collection : undefined;
    },
  };
}

/** Returns a look-up of these collections alone, in their new form: rules may lead from one to another. */
export function collectionsOf(collections: readonly Collection[]): Collections {
  const byId = new Map(collections.map((collection) => [collection.id, collection]));
  const byName = new Map(collections.map((collection) => [collection.name.toLowerCase(), collection]));
  return {
    find: (nameOrId) => byName.get(nameOrId.toLowerCase()) ?? byId.get(nameOrId),
    all: () => collections,
  };
}
