import type { JsonObject } from '../base/json.ts';
import { ruleNames, type Collection } from '../collections/collection.ts';
import { indexToText } from '../collections/index-definition.ts';
import { fieldToJson, type Field } from '../fields/field.ts';
import type { Rule } from '../rules/rule.ts';
import type { AuditEntry } from './audit-entry.ts';
import { changedPaths } from './changed-paths.ts';

/** Returns the entry for a changed definition: rules with old and new text, everything else by name. Undefined when nothing changed. */
export function auditCollectionChange(
  before: Collection | undefined,
  after: Collection | undefined,
): AuditEntry | undefined {
  if (before === undefined) return after && created(after);
  const { id: collection, name } = before;
  if (after === undefined) return { action: 'collection.delete', collection, details: { name } };
  const details = detailsOf(before, after);
  if (Object.keys(details).length === 1) return undefined;
  return { action: 'collection.update', collection, details };
}

function created(collection: Collection): AuditEntry {
  const { id, name } = collection;
  return { action: 'collection.create', collection: id, details: { name, rules: rulesOf(collection) } };
}

function detailsOf(before: Collection, after: Collection): JsonObject {
  const [was, is] = [rulesOf(before), rulesOf(after)];
  const rules = Object.keys(is).flatMap((name) => {
    const change = { before: was[name] ?? null, after: is[name] ?? null };
    return change.before === change.after ? [] : [[name, change] as const];
  });
  const fields = changedFields(before, after);
  const indexes = changedPaths(indexesOf(before), indexesOf(after)).length > 0;
  const options = changedPaths(before.auth, after.auth).filter((path) => !Object.hasOwn(is, path));
  return {
    name: after.name,
    ...(before.name !== after.name && { nameBefore: before.name }),
    ...(rules.length > 0 && { rules: Object.fromEntries(rules) }),
    ...(fields !== undefined && { fields }),
    ...(indexes && { indexes: 'changed' }),
    ...(options.length > 0 && { options }),
  };
}

/** Returns the rules of a collection, including those among the options of an auth collection. */
function rulesOf({ rules, auth }: Collection): Readonly<Record<string, Rule>> {
  const own = Object.fromEntries(ruleNames.map((name) => [name, rules[name]]));
  if (auth === undefined) return own;
  return { ...own, authRule: auth.authRule, manageRule: auth.manageRule, 'mfa.rule': auth.mfa.rule };
}

/** Returns names of added, removed and changed fields; undefined when all are unchanged. */
function changedFields(before: Collection, after: Collection): JsonObject | undefined {
  const idsOf = (fields: readonly Field[]): ReadonlyMap<string, Field> =>
    new Map(fields.map((field) => [field.id, field]));
  const [was, is] = [idsOf(before.fields), idsOf(after.fields)];
  const added = after.fields.filter(({ id }) => !was.has(id));
  const removed = before.fields.filter(({ id }) => !is.has(id));
  const changed = after.fields.filter((field) => {
    const old = was.get(field.id);
    return old !== undefined && fieldToJson(old) !== fieldToJson(field);
  });
  const groups = Object.entries({ added, removed, changed }).filter(([, fields]) => fields.length > 0);
  if (groups.length === 0) return undefined;
  return Object.fromEntries(groups.map(([group, fields]) => [group, fields.map(({ name }) => name)]));
}

function indexesOf({ indexes, name }: Collection): readonly string[] {
  return indexes.map((index) => indexToText(index, name));
}
