import { portalOf } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import type { Rule } from '../access/rule.ts';
import { unreachable } from '../base/assert.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { type Collection, ruleNames } from '../collections/collection.ts';
import { indexToText } from '../collections/index-definition.ts';
import { type Field, fieldToJson } from '../fields/field.ts';

/**
 * Who did what, and from where. How entries of the audit log are made:
 *
 *   done in a transaction ── append ──► a row in the same transaction: both are committed, or neither
 *   done in none, and often ── note ──► tallies in memory ──► one row for all equal ones in a minute, written within a second
 *     (sign-ins, refusals)
 *
 * No entry holds a secret, nor anything typed that may be one: not even an unknown user name, which may be a misplaced password.
 */
export interface AuditEntry {
  readonly action: AuditAction;
  /** `done` when absent. */
  readonly outcome?: 'done' | 'refused';
  /** Id of the collection that the action was about. */
  readonly collection?: string;
  /** Id of the record, key, endpoint, delivery or replay that was acted on. */
  readonly target?: string;
  readonly details?: JsonObject;
}

export const auditActions = [
  'sign-in',
  'impersonate',
  'setup',
  'import',
  'instance.create',
  'instance.loss',
  'instance.damage',
  'instance.rename',
  'instance.host',
  'instance.label',
  'instance.quota',
  'quota.reached',
  'instance.suspend',
  'instance.resume',
  'instance.delete',
  'instance.restore',
  'instance.clone',
  'instance.import',
  'schema.apply',
  'schema.cancel',
  'schema.retry',
  'backup.create',
  'backup.delete',
  'backup.restore',
  'backup.upload',
  'superuser.create',
  'superuser.update',
  'superuser.delete',
  'account.update',
  'key.create',
  'key.delete',
  'key.use',
  'portal.create',
  'portal.open',
  'portal.use',
  'portal.delete',
  'collection.create',
  'collection.update',
  'collection.delete',
  'collection.truncate',
  'collection.secrets',
  'settings.update',
  'cron.run',
  'endpoint.create',
  'endpoint.update',
  'endpoint.delete',
  'endpoint.rotate',
  'endpoint.secret',
  'endpoint.replay',
  'endpoint.backfill',
  'endpoint.reconcile',
  'delivery.retry',
  'delivery.cancel',
  'replay.cancel',
  'signing-key.rotate',
  'event.expunge',
  'filter.rewrite',
  'filter.unreadable',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** Who acted: a caller, the operator, which is anyone with the command line, or an operator key as it is written. */
export type Actor = Pick<RuleInput, 'caller' | 'origin'> | WrittenActor | 'operator';

export const actorKinds = ['guest', 'user', 'superuser', 'key', 'portal', 'operator'] as const;

/** An actor as stored in an entry. */
export interface WrittenActor {
  readonly kind: (typeof actorKinds)[number];
  readonly id: string;
  readonly address: string;
  readonly requestId: string;
}

export function writtenActor(actor: Actor): WrittenActor {
  if (actor === 'operator') return { kind: 'operator', id: '', address: '', requestId: '' };
  if (!('caller' in actor)) return actor;
  const { caller } = actor;
  if (caller.kind === 'superuser' && caller.isOperator === true) return writtenActor('operator');
  const origin = actor.origin?.() ?? { address: '', requestId: '' };
  const portal = portalOf(caller);
  if (portal !== undefined) return { kind: 'portal', id: portal, ...origin };
  switch (caller.kind) {
    case 'guest':
      return { kind: 'guest', id: '', ...origin };
    case 'user':
      return { kind: 'user', id: caller.id, ...origin };
    case 'superuser':
      return { kind: caller.key === undefined ? 'superuser' : 'key', id: caller.id, ...origin };
    default:
      return unreachable(caller);
  }
}

/** Returns the paths where two values of the same shape differ, as `smtp.host`: names, never values. Lists are compared as a whole. */
export function changedPaths(before: unknown, after: unknown, at = ''): readonly string[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      changedPaths(before[name], after[name], at === '' ? name : `${at}.${name}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [at];
}

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
