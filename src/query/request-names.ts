import { tableOf } from '../collections/views.ts';
import { foldCase } from '../base/case-folding.ts';
import { type Field, fieldColumn, hasColumn } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import {
  type Constant,
  type Constants,
  type Misuse,
  numberOfText,
  type Operand,
  type PlainConstant,
  type Resolve,
} from '../filters/operand.ts';
import { converted, type Slot } from '../sql/slot.ts';
import { identifier, sql, type Sql } from '../sql/sql.ts';
import { type Collection, superusersName } from '../collections/collection.ts';
import { findPath, isMultiple, type Path, type PathContext, type Step } from './path.ts';
import { bodyMember, type ConditionRequest } from './condition-request.ts';
import type { PlanSlots } from './plan-slots.ts';

export interface RequestNamesContext extends PathContext {
  readonly request: ConditionRequest;
  /** The collection that the rule is about, and the alias of its table. */
  readonly collection: Collection;
  readonly alias: Sql;
  /** For a statement that is kept for other requests. */
  readonly slots: PlanSlots | undefined;
}

type Resolved = ReturnType<Resolve> | Path;

/**
 * Resolves names that begin with `@request.` or `@collection.` (http-api 8.2). A member that a request lacks is NULL, never an error; a part that
 * no request has, such as `@request.boby`, is unknown: it could only be a slip.
 */
export function resolveRequest(name: string, context: RequestNamesContext): Resolved {
  const [, other, alias, rest] = /^@collection\.(\w+)(?::(\w+))?\.(.+)$/.exec(name) ?? [];
  if (other !== undefined && rest !== undefined)
    return resolveOther(`${other}:${alias ?? ''}`, rest, context);
  const [, part = '', member, modifier] = /^@request\.(\w+)(?:\.([\w.]+))?(?::(\w+))?$/.exec(name) ?? [];
  if (member === undefined) return resolveWord(name, part, context);
  const path = { segments: member.split('.'), modifier };
  switch (part) {
    case 'query':
    case 'headers':
      return resolveText(({ input }) => input[part].get(member), path, context);
    case 'body':
      return resolveBody(path, context);
    case 'auth':
      return resolveCaller(path, context);
    default:
      return undefined;
  }
}

/** Returns a value of the request: the value itself or, in a plan that serves other requests, its slot. */
function valueOf(
  { request, slots }: RequestNamesContext,
  read: (request: ConditionRequest) => PlainConstant,
): Constant {
  return slots === undefined ? read(request) : (slots.ofRequest(read) ?? null);
}

/** Returns a value that decides how the name is compiled. A plan serves only requests with the same value. */
function decide<Value extends PlainConstant>(
  { request, slots }: RequestNamesContext,
  read: (request: ConditionRequest) => Value,
): Value {
  return slots === undefined ? read(request) : slots.decide(read);
}

interface MemberPath {
  readonly segments: readonly string[];
  readonly modifier: string | undefined;
}

function resolveWord(name: string, part: string, context: RequestNamesContext): Resolved {
  if (name.includes(':')) return undefined;
  return part === 'context' || part === 'method' ? valueOf(context, ({ input }) => input[part]) : undefined;
}

/**
 * Resolves a name to all rows of another collection. The same name and alias mean the same row, another alias means another row.
 */
function resolveOther(key: string, rest: string, context: RequestNamesContext): Resolved {
  const target = context.collections.find(key.slice(0, key.indexOf(':')));
  if (target === undefined) return undefined;
  const [path = '', modifier, ...more] = rest.split(':');
  if (more.length > 0) return undefined;
  const table = tableOf(target, context.names);
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
  read: (request: ConditionRequest) => string | null,
  { segments, modifier }: MemberPath,
  context: RequestNamesContext,
): Resolved {
  if (modifier === 'isset') return valueOf(context, (request) => truth(read(request) !== null));
  if (modifier === 'lower') return valueOf(context, (request) => lower(read(request)));
  if (modifier !== undefined) return misuse(modifier);
  const isNumber = isNumberField(context.collection, segments.at(-1) ?? '');
  return valueOf(context, (request) => (isNumber ? asNumber(read(request)) : read(request)));
}

function resolveBody({ segments, modifier }: MemberPath, context: RequestNamesContext): Resolved {
  const [first = '', ...rest] = segments;
  const field = context.collection.fields.find(({ name }) => name === first);
  const value = (request: ConditionRequest): unknown => memberOf(bodyMember(request, first), rest);
  if (modifier === 'isset') return valueOf(context, (request) => truth(value(request) !== undefined));
  if (modifier === 'changed') {
    if (field === undefined || rest.length > 0) return misuse(modifier);
    const isSet = decide(context, (request) => truth(value(request) !== undefined));
    // A password cannot be compared with the one before: it counts as changed when it is sent.
    if (isSet === 0n || !hasColumn(field)) return isSet;
    return changed(
      valueOf(context, (request) => toConstant(value(request))),
      context,
      field,
    );
  }
  if (field?.type === 'relation' && rest.length > 0)
    return relationOf(field, { segments, modifier }, context);
  if (modifier === 'each') {
    // A list of another length makes another condition.
    context.slots?.pin();
    return {
      kind: 'constants',
      values: listOf(value(context.request)).map(toConstant),
    } satisfies Constants;
  }
  if (modifier === 'length')
    return valueOf(context, (request) =>
      field?.type === 'json' ? lengthInJson(field, value(request)) : lengthOf(value(request)),
    );
  if (modifier === 'lower') return valueOf(context, (request) => lower(toConstant(value(request))));
  if (modifier !== undefined) return misuse(modifier);
  const isNumber = isNumberField(context.collection, segments.at(-1) ?? '');
  return valueOf(context, (request) => {
    const member = value(request);
    return isNumber && typeof member === 'string' ? asNumber(member) : toConstant(member);
  });
}

/** Resolves a path that leads on from the records whose ids were sent for a relation. */
function relationOf(
  field: Field,
  { segments, modifier }: MemberPath,
  context: RequestNamesContext,
): Resolved {
  const target = context.collections.find(String(field.options['collectionId']));
  if (target === undefined) return null;
  const list = valueOf(context, (request) => {
    const ids = listOf(bodyMember(request, field.name)).filter((id) => typeof id === 'string');
    return JSON.stringify(isMultiple(field) ? ids : ids.slice(-1));
  });
  const table = tableOf(target, context.names);
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

function resolveCaller(path: MemberPath, context: RequestNamesContext): Resolved {
  const { request, slots } = context;
  const { caller } = request.input;
  const { modifier } = path;
  slots?.noteCaller();
  // Checked for guests, too: a rule is compiled for a guest when it is saved, and would otherwise fail only for accounts.
  if (modifier !== undefined && !['each', 'length', 'lower'].includes(modifier)) return misuse(modifier);
  if (caller.kind === 'guest') return null;
  const collectionId = caller.kind === 'user' ? caller.collectionId : superusersName;
  const collection = context.collections.find(collectionId);
  if (collection === undefined) return null;
  const [first = ''] = path.segments;
  const id = slots?.callerId() ?? caller.id;
  if (path.segments.length === 1 && modifier === undefined) {
    if (first === 'id') return id;
    if (first === 'collectionId') return collection.id;
    if (first === 'collectionName') return collection.name;
    const { callerRelations } = request.input;
    const related = slots === undefined ? callerRelations?.get(first) : slots.callerRelation(first);
    if (related !== undefined) return related;
  }
  const table = context.names.collectionTable(collection.name);
  const resolution = findPath(context, collection, { ...path, joinedBy: 'id' });
  if (
    resolution !== undefined &&
    !('kind' in resolution) &&
    resolution.steps.length === 0 &&
    resolution.counted === undefined
  )
    return valueOfCaller(resolution, table, id);
  const step: Step = {
    key: '@auth.',
    hasMany: false,
    collection,
    join: (_from, to) => ({
      source: sql`${table} AS ${to}`,
      on: sql`${to}.id = ${id}`,
    }),
  };
  return behind([step], resolution) ?? null;
}

/** The alias of the caller's record in a subquery of its own. */
const callerAlias = identifier('$caller');

/**
 * Returns a value of the caller's own record as a subquery. It is the same for every record that a rule is evaluated for, so the
 * subquery runs once per statement, where a join would look it up for each row. NULL when the record is gone.
 */
function valueOfCaller({ leaf }: Path, table: Sql, id: string | Slot): Operand {
  const { sql: value, kind, path } = leaf(callerAlias);
  const subquery = sql`(SELECT ${value} FROM ${table} AS ${callerAlias} WHERE ${callerAlias}.id = ${id})`;
  return { sql: subquery, kind, ...(path !== undefined && { path }) };
}

/** Returns whether the stored value differs from this one, as `!=` understands it. */
function changed(constant: Constant, context: RequestNamesContext, field: Field): Operand {
  const column = sql`${context.alias}.${context.names.column(field.name)}`;
  const kind = ['number', 'bool'].includes(fieldColumn(field) ?? '') ? 'number' : 'text';
  const convert = kind === 'number' ? Number : String;
  const value = constant === null ? null : converted<PlainConstant, string | number>(constant, convert);
  const differs = context.dialect.compare({ sql: column, kind }, 'IS NOT', value);
  return { sql: sql`CAST(CASE WHEN ${differs} THEN 1 ELSE 0 END AS INTEGER)`, kind: 'bool' };
}

function memberOf(value: unknown, segments: readonly string[]): unknown {
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function asNumber(text: string | null): PlainConstant {
  return text === null ? null : (numberOfText(text) ?? 0);
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return value === undefined || value === null || value === '' ? 0 : 1;
}

/** Returns the length that the sent value has once it is stored: only lists have one, and a list may be sent as text. */
function lengthInJson(field: Field, value: unknown): number {
  const stored = typeof value === 'string' ? fieldType(field).normalise(value, field.options) : undefined;
  const list: unknown = typeof stored === 'string' && stored.startsWith('[') ? JSON.parse(stored) : value;
  return Array.isArray(list) ? list.length : 0;
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
