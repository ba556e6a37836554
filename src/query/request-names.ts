import { foldCase } from '../base/case-folding.ts';
import { type Field, fieldColumn, hasColumn } from '../fields/field.ts';
import {
  type Constants,
  type Misuse,
  numberOfText,
  type Operand,
  type PlainConstant,
  type Resolve,
} from '../filters/operand.ts';
import type { RuleInput } from '../access/rule-input.ts';
import type { Slot } from '../sql/slot.ts';
import { identifier, sql, type Sql } from '../sql/sql.ts';
import { type Collection, superusersName } from '../collections/collection.ts';
import { findPath, isMultiple, type Path, type PathContext, type Step } from './path.ts';
import type { PlanSlots } from './plan-slots.ts';

export interface RequestNamesContext extends PathContext {
  readonly facts: RuleInput;
  /** The collection that the rule is about, and the alias of its table. */
  readonly collection: Collection;
  readonly alias: Sql;
  /** For a statement that is kept for other requests. */
  readonly slots: PlanSlots | undefined;
}

type Resolved = ReturnType<Resolve> | Path;

/** Resolves names that begin with `@request.` or `@collection.` (http-api 8.2). What a request does not have is NULL, never an error. */
export function resolveRequest(name: string, context: RequestNamesContext): Resolved {
  const [, other, alias, rest] = /^@collection\.(\w+)(?::(\w+))?\.(.+)$/.exec(name) ?? [];
  if (other !== undefined && rest !== undefined)
    return resolveOther(`${other}:${alias ?? ''}`, rest, context);
  const [, part = '', member, modifier] = /^@request\.(\w+)(?:\.([\w.]+))?(?::(\w+))?$/.exec(name) ?? [];
  // Of the request itself, only the caller has slots.
  if (part !== 'auth') context.slots?.pin();
  if (member === undefined) return resolveWord(name, part, context.facts);
  const asked = { segments: member.split('.'), modifier };
  switch (part) {
    case 'query':
    case 'headers':
      return resolveText(context.facts[part].get(member), { ...asked, collection: context.collection });
    case 'body':
      return resolveBody(asked, context);
    case 'auth':
      return resolveCaller(asked, context);
    default:
      return modifier === undefined ? null : misuse(modifier);
  }
}

interface Asked {
  readonly segments: readonly string[];
  readonly modifier: string | undefined;
}

function resolveWord(name: string, part: string, facts: RuleInput): Resolved {
  if (!name.startsWith('@request.') || name.includes(':')) return undefined;
  return part === 'context' || part === 'method' ? facts[part] : null;
}

/**
 * Resolves a name to all rows of another collection. The same name and alias mean the same row, another alias means another row.
 */
function resolveOther(key: string, rest: string, context: RequestNamesContext): Resolved {
  const target = context.collections.find(key.slice(0, key.indexOf(':')));
  if (target === undefined) return undefined;
  const [path = '', modifier, ...more] = rest.split(':');
  if (more.length > 0) return undefined;
  const table = context.names.collectionTable(target.name);
  const step: Step = {
    key: `@collection.${key}.`,
    hasMany: true,
    collection: target,
    join: (_from, to) => ({ source: sql`${table} AS ${to}`, on: sql`TRUE` }),
  };
  return behind([step], findPath(context, target, { segments: path.split('.'), modifier }));
}

function behind(steps: readonly Step[], path: Path | Misuse | undefined): Path | Misuse | undefined {
  if (path === undefined || 'kind' in path) return path;
  return { ...path, steps: [...steps, ...path.steps] };
}

function resolveText(
  value: string | null,
  { segments, modifier, collection }: Asked & { readonly collection: Collection },
): Resolved {
  if (modifier === 'isset') return truth(value !== null);
  if (modifier === 'lower') return lower(value);
  if (modifier !== undefined) return misuse(modifier);
  return typeof value === 'string' && isNumberField(collection, segments.at(-1) ?? '')
    ? (numberOfText(value) ?? 0)
    : value;
}

function resolveBody({ segments, modifier }: Asked, context: RequestNamesContext): Resolved {
  const [first = '', ...rest] = segments;
  const { body } = context.facts;
  const isSet = Object.hasOwn(body, first);
  const field = context.collection.fields.find(({ name }) => name === first);
  if (modifier === 'isset') return truth(rest.length === 0 ? isSet : valueAt(body, segments) !== undefined);
  if (modifier === 'changed') {
    if (field === undefined || rest.length > 0) return misuse(modifier);
    // A password cannot be compared with the one before: it counts as changed when it is sent.
    if (!isSet || !hasColumn(field)) return truth(isSet);
    return changed(toConstant(body[first]), context, field);
  }
  if (field?.type === 'relation' && rest.length > 0)
    return relationOf(field, { segments, modifier }, context);
  const value = valueAt(body, segments);
  if (modifier === 'each') {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
    return { kind: 'constants', values: values.map(toConstant) } satisfies Constants;
  }
  if (modifier === 'length') return lengthOf(value);
  if (modifier === 'lower') return lower(toConstant(value));
  if (modifier !== undefined) return misuse(modifier);
  const isNumber = typeof value === 'string' && isNumberField(context.collection, segments.at(-1) ?? '');
  return isNumber ? (numberOfText(value) ?? 0) : toConstant(value);
}

/** Resolves a path that leads on from the records whose ids were sent for a relation. */
function relationOf(field: Field, { segments, modifier }: Asked, context: RequestNamesContext): Resolved {
  const target = context.collections.find(String(field.options['collectionId']));
  if (target === undefined) return null;
  const given = context.facts.body[field.name];
  const ids = (Array.isArray(given) ? given : [given]).filter((id) => typeof id === 'string');
  const list = JSON.stringify(isMultiple(field) ? ids : ids.slice(-1));
  const table = context.names.collectionTable(target.name);
  const { dialect } = context;
  const steps: Step[] = [
    {
      key: `@body.${field.name}[]`,
      hasMany: isMultiple(field),
      collection: undefined,
      join: (_from, to) => ({ source: dialect.each(sql`${list}`, to), on: sql`TRUE` }),
    },
    {
      key: `@body.${field.name}.`,
      hasMany: false,
      collection: target,
      join: (from, to) => ({
        source: sql`${table} AS ${to}`,
        on: sql`${to}.id = ${dialect.valueOfEach(from).sql}`,
      }),
    },
  ];
  return (
    behind(steps, findPath(context, target, { segments: segments.slice(1), modifier, joinedBy: 'id' })) ??
    null
  );
}

function resolveCaller(asked: Asked, context: RequestNamesContext): Resolved {
  const { facts, slots } = context;
  const { caller } = facts;
  const { modifier } = asked;
  slots?.noteCaller();
  // Checked for guests, too: a rule is compiled for a guest when it is saved, and would otherwise fail only for accounts.
  if (modifier !== undefined && !['each', 'length', 'lower'].includes(modifier)) return misuse(modifier);
  if (caller.kind === 'guest') return null;
  const collectionId = caller.kind === 'user' ? caller.collectionId : superusersName;
  const collection = context.collections.find(collectionId);
  if (collection === undefined) return null;
  const [first = ''] = asked.segments;
  const id = slots?.callerId() ?? caller.id;
  if (asked.segments.length === 1 && modifier === undefined) {
    if (first === 'id') return id;
    if (first === 'collectionId') return collection.id;
    if (first === 'collectionName') return collection.name;
    const known = slots === undefined ? facts.callerRelations?.get(first) : slots.callerRelation(first);
    if (known !== undefined) return known;
  }
  const table = context.names.collectionTable(collection.name);
  const path = findPath(context, collection, { ...asked, joinedBy: 'id' });
  if (path !== undefined && !('kind' in path) && path.steps.length === 0 && path.counted === undefined)
    return valueOfCaller(path, table, id);
  const step: Step = {
    key: '@auth.',
    hasMany: false,
    collection,
    join: (_from, to) => ({
      source: sql`${table} AS ${to}`,
      on: sql`${to}.id = ${id}`,
    }),
  };
  return behind([step], path) ?? null;
}

/** The alias of the caller's record in a subquery of its own. */
const callerAlias = identifier('$caller');

/**
 * Returns a value of the caller's own record as a subquery. It is the same for every record that a rule is asked about, so the
 * subquery runs once per statement, where a join would look it up for each row. NULL when the record is gone.
 */
function valueOfCaller({ leaf }: Path, table: Sql, id: string | Slot): Operand {
  const { sql: value, kind, path } = leaf(callerAlias);
  const found = sql`(SELECT ${value} FROM ${table} AS ${callerAlias} WHERE ${callerAlias}.id = ${id})`;
  return { sql: found, kind, ...(path !== undefined && { path }) };
}

/** Returns whether the stored value differs from the given one, as `!=` understands it. */
function changed(given: PlainConstant, context: RequestNamesContext, field: Field): Operand {
  const column = sql`${context.alias}.${context.names.column(field.name)}`;
  const kind = ['number', 'bool'].includes(fieldColumn(field) ?? '') ? 'number' : 'text';
  const value = given === null ? null : kind === 'number' ? Number(given) : String(given);
  const differs = context.dialect.compare({ sql: column, kind }, 'IS NOT', value);
  return { sql: sql`CAST(CASE WHEN ${differs} THEN 1 ELSE 0 END AS INTEGER)`, kind: 'bool' };
}

function valueAt(value: unknown, segments: readonly string[]): unknown {
  let at = value;
  for (const segment of segments) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, segment)) return undefined;
    // Checked above: an object that has this member.
    at = (at as Readonly<Record<string, unknown>>)[segment];
  }
  return at;
}

/** Returns a value as a constant. Arrays and objects become their JSON text, as they are stored. */
function toConstant(value: unknown): PlainConstant {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return truth(value);
  if (typeof value === 'string' || typeof value === 'number') return value;
  return JSON.stringify(value);
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return value === undefined || value === null || value === '' ? 0 : 1;
}

function lower(value: PlainConstant): PlainConstant {
  return typeof value === 'string' ? foldCase(value) : value;
}

function isNumberField(collection: Collection, name: string): boolean {
  return collection.fields.some((field) => field.name === name && field.type === 'number');
}

function truth(isTrue: boolean): bigint {
  return isTrue ? 1n : 0n;
}

function misuse(modifier: string): Misuse {
  return { kind: 'misuse', problem: `The modifier ":${modifier}" cannot be used here; found` };
}
