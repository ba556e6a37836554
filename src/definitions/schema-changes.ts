import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../base/json.ts';

/** What becomes of a collection when definitions are applied. */
export interface SchemaChange {
  readonly change: 'create' | 'change' | 'delete';
  readonly id: string;
  /** Afterwards. */
  readonly name: string;
  /** Of a change: its parts. */
  readonly parts: readonly SchemaPart[];
}

/** What becomes of a part of a definition: without `before` it is new, without `after` it goes. */
export interface SchemaPart {
  /** `listRule`, `field title`, `field title: max`, `index by_title`, `passwordAuth.enabled`. */
  readonly part: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Returns the changes of a plan as the service has answered it. */
export function changesOf(plan: JsonObject): readonly SchemaChange[] {
  const created = objects(plan['created']).map((one) => wholeChange('create', one));
  const changed = objects(plan['changed']).flatMap(({ before, after }) =>
    isJsonObject(before) && isJsonObject(after)
      ? [{ ...wholeChange('change', after), parts: partsOf(before, after) }]
      : [],
  );
  return [...created, ...changed, ...objects(plan['deleted']).map((one) => wholeChange('delete', one))];
}

function wholeChange(change: SchemaChange['change'], { id, name }: JsonObject): SchemaChange {
  return { change, id: String(id), name: String(name), parts: [] };
}

function objects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const madeByService: ReadonlySet<string> = new Set(['id', 'created', 'updated', 'fields', 'indexes']);

function partsOf(before: JsonObject, after: JsonObject): readonly SchemaPart[] {
  return [
    ...memberParts('', withoutMembers(before), withoutMembers(after)),
    ...fieldParts(objects(before['fields']), objects(after['fields'])),
    ...indexParts(texts(before['indexes']), texts(after['indexes'])),
  ];
}

function withoutMembers(definition: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(definition).filter(([name]) => !madeByService.has(name)));
}

/** Compares the members of two objects, and theirs. */
function memberParts(path: string, before: JsonObject, after: JsonObject): readonly SchemaPart[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    if (isJsonObject(was) && isJsonObject(is)) return memberParts(`${path}${name}.`, was, is);
    return isDeepStrictEqual(was, is) ? [] : [{ part: `${path}${name}`, before: was, after: is }];
  });
}

/** Fields are the same where their ids are. */
function fieldParts(before: readonly JsonObject[], after: readonly JsonObject[]): readonly SchemaPart[] {
  const previous = new Map(before.map((field) => [field['id'], field]));
  const next = new Map(after.map((field) => [field['id'], field]));
  const named = ({ name }: JsonObject): string => `field ${String(name)}`;
  const added = after.filter(({ id }) => !previous.has(id));
  const removed = before.filter(({ id }) => !next.has(id));
  const order = (fields: readonly JsonObject[]): readonly string[] =>
    fields.filter(({ id }) => previous.has(id) && next.has(id)).map(({ id }) => String(id));
  const isMoved = !isDeepStrictEqual(order(before), order(after));
  return [
    ...added.map((field) => ({ part: named(field), after: field })),
    ...after.flatMap((field) => memberParts(`${named(field)}: `, previous.get(field['id']) ?? field, field)),
    ...removed.map((field) => ({ part: named(field), before: field })),
    ...(isMoved ? [{ part: 'order of fields', before: namesOf(before), after: namesOf(after) }] : []),
  ];
}

function namesOf(fields: readonly JsonObject[]): readonly string[] {
  return fields.map(({ name }) => String(name));
}

function indexParts(before: readonly string[], after: readonly string[]): readonly SchemaPart[] {
  const named = (index: string): string => `index ${/INDEX `([^`]+)`/.exec(index)?.[1] ?? index}`;
  const previous = new Map(before.map((index) => [named(index), index]));
  const next = new Map(after.map((index) => [named(index), index]));
  return [...new Set([...previous.keys(), ...next.keys()])].flatMap((part) => {
    const [was, is] = [previous.get(part), next.get(part)];
    if (was === is) return [];
    return [{ part, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) }];
  });
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** What is lost when changes are applied: collections with their records, fields (`posts.title`) with their values. */
export interface SchemaLoss {
  readonly collections: readonly string[];
  readonly fields: readonly string[];
}

export function lossOf(changes: readonly SchemaChange[]): SchemaLoss {
  return {
    collections: changes.filter(({ change }) => change === 'delete').map(({ name }) => name),
    fields: changes.flatMap(({ name, parts }) =>
      parts.flatMap(({ part, after, before }) =>
        after === undefined && part.startsWith('field ') && isJsonObject(before)
          ? [`${name}.${String(before['name'])}`]
          : [],
      ),
    ),
  };
}

/** Returns what becomes of a part. */
export function kindOfPart({ before, after }: SchemaPart): SchemaChange['change'] {
  return before === undefined ? 'create' : after === undefined ? 'delete' : 'change';
}
