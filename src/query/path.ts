import { type Field, fieldColumn } from '../fields/field.ts';
import type { Dialect } from '../filters/dialect.ts';
import { filterLimits, quote } from '../filters/filter-error.ts';
import { jsonPath, type Misuse, type Operand, type OperandKind } from '../filters/operand.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Names } from '../storage/database.ts';
import type { CollectionFinder } from '../collections/collection-store.ts';
import type { Collection } from '../collections/collection.ts';
import { isIdentityIndex } from '../collections/index-definition.ts';
import { tableOf } from '../collections/views.ts';
import { indexedPrefix } from '../collections/index-sql.ts';

/**
 * A name in a filter as a path through the tables: `author.company.name` is two steps and a leaf. Nothing is joined yet: the same
 * path may be joined more than once, each time under other aliases (record-scope.ts).
 */
export interface Path {
  readonly steps: readonly Step[];
  /** Returns the value in the row to which the last step leads. */
  readonly leaf: (alias: Sql) => Operand;
  /** Whether the last step leads to the values of a list, which the operator compares apart from other comparisons. */
  readonly isApart?: boolean;
  /** A step behind the others to rows that are counted: `leaf` is an aggregate of these, of no row where there are none. */
  readonly counted?: Step;
}

/** A step from a row to others that belong to it. */
export interface Step {
  /** Distinguishes it from all other steps that begin at the same row. */
  readonly key: string;
  /** Whether it may lead to more than one row. */
  readonly hasMany: boolean;
  /** The collection it leads to; undefined for the values of a list. */
  readonly collection: Collection | undefined;
  readonly join: (from: Sql, to: Sql) => Join;
}

export interface Join {
  /** What is joined, with its alias. */
  readonly source: Sql;
  readonly on: Sql;
}

export interface PathContext {
  readonly collections: CollectionFinder;
  readonly names: Names;
  readonly dialect: Dialect;
  /** Whether hidden fields can be named. Where not, they are treated as unknown. */
  readonly mayUseHidden: boolean;
  /** The alias of the row with the values before a change, where there is one: then fields can have the modifier `:changed`. */
  readonly before?: Sql | undefined;
  /** Whether the operator is one with `?`: then a relation of many is each of its ids (http-api A29). */
  readonly isAny?: boolean;
}

/** Finds the path whose `segments` begin at a record of the collection. Undefined when there is none, or none for this caller. */
export function findPath(
  context: PathContext,
  start: Collection,
  { segments, modifier, joinedBy }: PathName,
): Path | Misuse | undefined {
  if (segments.includes('')) return undefined;
  const steps: Step[] = [];
  let collection = start;
  let joinColumn = joinedBy;
  let hops = 0;
  for (let at = 0; ; at += 1) {
    const segment = segments[at] ?? '';
    const rest = segments.slice(at + 1);
    const field = collection.fields.find((candidate) => candidate.name === segment);
    const isKnown = field !== undefined && (context.mayUseHidden || !field.hidden);
    const hop = isKnown
      ? rest.length === 0
        ? undefined
        : relationSteps(context, field, joinColumn)
      : backRelationSteps(context, { collection, segment, joinColumn });
    if (hop === undefined) {
      if (!isKnown) return undefined;
      const isEach = context.isAny === true && isRelationOfMany(field);
      const here = steps.length === 0 ? context : { ...context, before: undefined };
      const leaf = leafOf(here, field, {
        collection,
        path: rest,
        modifier: isEach && rest.length === 0 ? (modifier ?? 'each') : modifier,
      });
      if (leaf === undefined || 'kind' in leaf) return leaf;
      const isApart = isEach && leaf.steps.length > 0;
      return { steps: [...steps, ...leaf.steps], leaf: leaf.leaf, isApart };
    }
    // `author.id` is the id that the record itself holds: it is compared without a join.
    if (isKnown && rest.length === 1 && rest[0] === 'id' && modifier === undefined) {
      const each = isMultiple(field) ? 'each' : undefined;
      const leaf = leafOf(context, field, { collection, path: [], modifier: each });
      if (leaf !== undefined && !('kind' in leaf))
        return { steps: [...steps, ...leaf.steps], leaf: leaf.leaf };
    }
    const { target } = hop;
    const isCounted = !isKnown && rest.length === 0 && modifier === 'length';
    if (target === undefined || (rest.length === 0 && !isCounted)) return undefined;
    hops += 1;
    if (hops > filterLimits.hopsMax) {
      return {
        kind: 'misuse',
        problem: `Expected at most ${filterLimits.hopsMax} relations in a path; more`,
      };
    }
    const [counted] = hop.steps;
    if (isCounted && counted !== undefined) return { steps, leaf: context.dialect.countOf, counted };
    steps.push(...hop.steps);
    collection = target;
    joinColumn = hop.joinedBy;
  }
}

interface PathName {
  readonly segments: readonly string[];
  readonly modifier: string | undefined;
  /** The column by which the row where the path begins was joined, if it was. */
  readonly joinedBy?: string;
}

interface Hop {
  readonly steps: readonly Step[];
  readonly target: Collection | undefined;
  /** The column of the target by which it is joined. */
  readonly joinedBy: string;
}

/** Returns the steps along a relation. `known` is the column by which the row where they begin was joined. */
function relationSteps(
  { collections, names, dialect }: PathContext,
  field: Field,
  joinColumn: string | undefined,
): Hop | undefined {
  if (field.type !== 'relation') return undefined;
  const target = collections.find(String(field.options['collectionId']));
  if (target === undefined) return { steps: [], target, joinedBy: 'id' };
  const list = isMultiple(field) ? [eachStep(names, dialect, field)] : [];
  const table = tableOf(target, names);
  const id = (from: Sql): Sql =>
    isMultiple(field)
      ? dialect.valueOfEach(from).sql
      : joinValue(dialect, sql`${from}.${names.column(field.name)}`, joinColumn === field.name);
  const row: Step = {
    key: `${field.name}.`,
    hasMany: false,
    collection: target,
    join: (from, to) => ({ source: sql`${table} AS ${to}`, on: sql`${to}.id = ${id(from)}` }),
  };
  return { steps: [...list, row], target, joinedBy: 'id' };
}

/** Returns a value to join by. It is made opaque where the join before this one compared the same column: see Dialect.opaque. */
function joinValue(dialect: Dialect, value: Sql, isKnown: boolean): Sql {
  return isKnown ? dialect.opaque(value) : value;
}

/** Returns a step to one row for each value of a multiple field. */
function eachStep(names: Names, dialect: Dialect, field: Field): Step {
  return {
    key: `${field.name}[]`,
    hasMany: true,
    collection: undefined,
    join: (from, to) => ({
      source: dialect.each(sql`${from}.${names.column(field.name)}`, to),
      on: sql`TRUE`,
    }),
  };
}

/** `comments_via_post`: the records of `comments` whose relation `post` holds this one. */
function backRelationSteps(
  context: PathContext,
  {
    collection,
    segment,
    joinColumn,
  }: { readonly collection: Collection; readonly segment: string; readonly joinColumn: string | undefined },
): Hop | undefined {
  const backRelation = findBackRelation(context, collection, segment);
  if (backRelation === undefined) return undefined;
  const { target, field } = backRelation;
  const { names, dialect } = context;
  const column = (to: Sql): Sql => sql`${to}.${names.column(field.name)}`;
  const inner = sql`"$value"`;
  const holds = (from: Sql, to: Sql): Sql =>
    isMultiple(field)
      ? sql`EXISTS (SELECT 1 FROM ${dialect.each(column(to), inner)} WHERE ${dialect.valueOfEach(inner).sql} = ${from}.id)`
      : sql`${column(to)} = ${joinValue(dialect, sql`${from}.id`, joinColumn === 'id')}`;
  const table = tableOf(target, names);
  const row: Step = {
    key: `${segment}.`,
    hasMany: !backRelation.isSole,
    collection: target,
    join: (from, to) => ({ source: sql`${table} AS ${to}`, on: holds(from, to) }),
  };
  return { steps: [row], target, joinedBy: field.name };
}

export interface BackRelation {
  readonly target: Collection;
  readonly field: Field;
  /** Whether no two records can refer to the same one. */
  readonly isSole: boolean;
}

/**
 * Returns the relation that `{collection}_via_{field}` names for records of `collection`. Undefined also for a hidden field that
 * the caller may not use.
 */
export function findBackRelation(
  { collections, mayUseHidden }: Pick<PathContext, 'collections' | 'mayUseHidden'>,
  collection: Collection,
  segment: string,
): BackRelation | undefined {
  // Neither the name of a collection nor that of a field may contain `_via_`.
  const [targetName = '', fieldName] = segment.split('_via_');
  if (fieldName === undefined) return undefined;
  const target = collections.find(targetName);
  const field = target?.fields.find((candidate) => candidate.name === fieldName);
  if (target === undefined || field?.type !== 'relation' || (field.hidden && !mayUseHidden)) return undefined;
  if (field.options['collectionId'] !== collection.id) return undefined;
  // The index need not cover the empty value, which refers to no record.
  const isSole = target.indexes.some((index) => isIdentityIndex(index, fieldName));
  return { target, field, isSole: isSole && !isMultiple(field) };
}

interface LeafOptions {
  readonly collection: Collection;
  /** The path inside a json value. */
  readonly path: readonly string[];
  readonly modifier: string | undefined;
}

function leafOf(
  context: PathContext,
  field: Field,
  { collection, path, modifier }: LeafOptions,
): Path | Misuse | undefined {
  const { names, dialect } = context;
  const isJson = field.type === 'json' || field.type === 'geoPoint';
  const kind = operandKind(field);
  if (kind === undefined || (path.length > 0 && !isJson)) return undefined;
  const column = (alias: Sql): Sql => sql`${alias}.${names.column(field.name)}`;
  const choices = isMultiple(field) ? undefined : choicesOf(field);
  const plain = (alias: Sql): Operand => {
    const guard = guardOf(context, collection, field)?.(alias);
    const operand = { sql: column(alias), kind, ...(guard && { guard }) };
    if (path.length > 0) return { ...operand, kind: 'json', path: jsonPath(path) };
    // Only json knows null; every other zero value is stored.
    if (field.type === 'json') return operand;
    const prefix = indexedPrefix(collection, field, { column: operand.sql, names });
    return { ...operand, isNeverNull: true, ...prefix, ...choices };
  };
  if (modifier === undefined) return { steps: [], leaf: plain };
  if (modifier === 'lower') {
    const lowered = (alias: Sql): Operand => {
      const { guard, ...operand } = plain(alias);
      return { ...dialect.lower(operand), ...(guard && { guard }) };
    };
    return { steps: [], leaf: lowered };
  }
  const isList = ['select', 'relation', 'file'].includes(field.type);
  if (modifier === 'each' && isList) {
    if (!isMultiple(field)) return { steps: [], leaf: plain };
    const each = (alias: Sql): Operand => ({ ...dialect.valueOfEach(alias), ...choicesOf(field) });
    return { steps: [eachStep(names, dialect, field)], leaf: each };
  }
  if (modifier === 'length' && isList) {
    return {
      steps: [],
      leaf: (alias) => (isMultiple(field) ? dialect.length(column(alias)) : lengthOfOne(column(alias))),
    };
  }
  if (modifier === 'length' && field.type === 'json')
    return { steps: [], leaf: (alias) => dialect.lengthInJson(plain(alias)) };
  const { before } = context;
  if (modifier === 'changed' && before !== undefined && path.length === 0) {
    const differs = (alias: Sql): Sql => sql`${column(alias)} IS DISTINCT FROM ${column(before)}`;
    return {
      steps: [],
      leaf: (alias) => ({
        sql: sql`CAST(CASE WHEN ${differs(alias)} THEN 1 ELSE 0 END AS INTEGER)`,
        kind: 'bool',
      }),
    };
  }
  const isModifier = ['each', 'length', 'isset', 'changed'].includes(modifier);
  const problem = isModifier
    ? `The modifier ":${modifier}" cannot be used with ${quote(field.name)}; found`
    : `Unknown modifier ${quote(`:${modifier}`)}`;
  return { kind: 'misuse', problem };
}

/**
 * Returns the condition under which a client's filter may compare an e-mail address: its owner shows it. Undefined for other
 * fields, and where hidden fields may be used.
 */
function guardOf(
  { mayUseHidden, names }: PathContext,
  collection: Collection,
  field: Field,
): ((alias: Sql) => Sql) | undefined {
  if (mayUseHidden || collection.type !== 'auth' || field.name !== 'email') return undefined;
  return (alias) => sql`${alias}.${names.column('emailVisibility')} = 1`;
}

/** Returns the values of a select, to check the other side of a comparison. */
function choicesOf({ type, options }: Field): Pick<Operand, 'choices'> | undefined {
  const { values } = options;
  return type === 'select' && Array.isArray(values) ? { choices: values.map(String) } : undefined;
}

function lengthOfOne(column: Sql): Operand {
  return { sql: sql`CAST(CASE WHEN COALESCE(${column}, '') = '' THEN 0 ELSE 1 END AS REAL)`, kind: 'number' };
}

/**
 * Returns how a field's values compare; undefined for a field without a column. Multiple values compare as the JSON text they are
 * stored as; only paths into json fields are looked into.
 */
function operandKind(field: Field): OperandKind | undefined {
  if (field.type === 'json') return 'json';
  if (field.type === 'date' || field.type === 'autodate') return 'date';
  const column = fieldColumn(field);
  return column === 'json' ? 'text' : column;
}

function isRelationOfMany(field: Field): boolean {
  return field.type === 'relation' && isMultiple(field);
}

export function isMultiple(field: Field): boolean {
  return ['select', 'relation', 'file'].includes(field.type) && Number(field.options['maxSelect']) > 1;
}

/**
 * Returns a look-up of collections that are no views. Rules run where writes wait for them, and a view takes as long as its query: only
 * conditions on views may lead to views.
 */
export function withoutViews(collections: CollectionFinder): CollectionFinder {
  return {
    find: (nameOrId) => {
      const collection = collections.find(nameOrId);
      return collection?.type === 'view' ? undefined : collection;
    },
  };
}
