import type { Timestamp } from '../base/timestamp.ts';
import { fieldToJson, type Field } from '../fields/field.ts';
import type { AuthOptions } from './auth-options.ts';
import { indexToText, type IndexDefinition } from './index-definition.ts';

/**
 * A collection: a named set of records with the same fields, kept in a table of its own.
 *
 *   definition (JSON of a client) ── decode-collection ──► Collection ── tables ──► its table
 *                                                              │
 *                                                     collection-store: all of an instance's, in memory
 *
 * A Collection is never changed: an update makes a new object, and whatever was compiled for the old one goes with it.
 */
export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly type: CollectionType;
  /** Whether the service itself made it: then it cannot be renamed or deleted. */
  readonly system: boolean;
  readonly rules: Rules;
  /** In the order in which they are shown: `id` first. */
  readonly fields: readonly Field[];
  readonly indexes: readonly IndexDefinition[];
  /** Undefined unless it is an auth collection. */
  readonly auth: AuthOptions | undefined;
  readonly created: Timestamp;
  readonly updated: Timestamp;
}

export type CollectionType = 'base' | 'auth';

/** Who may do what: null = superusers only, '' = everyone, otherwise a filter. */
export interface Rules {
  readonly listRule: string | null;
  readonly viewRule: string | null;
  readonly createRule: string | null;
  readonly updateRule: string | null;
  readonly deleteRule: string | null;
}

export const ruleNames = ['listRule', 'viewRule', 'createRule', 'updateRule', 'deleteRule'] as const;

export const lockedRules: Rules = {
  listRule: null,
  viewRule: null,
  createRule: null,
  updateRule: null,
  deleteRule: null,
};

/** Whether changes of its records make events. Collections whose names begin with `_` are internal to the service. */
export function emitsEvents(collection: Collection): boolean {
  return !collection.name.startsWith('_');
}

/** The definition as the collections API shows it. Members of `fields` come in alphabetical order, as clients know them. */
export function collectionToJson(collection: Collection): string {
  const rules = ruleNames.map((name) => `"${name}":${JSON.stringify(collection.rules[name])}`).join(',');
  const fields = collection.fields.map(fieldToJson).join(',');
  const indexes = JSON.stringify(collection.indexes.map((index) => indexToText(index, collection.name)));
  const tail = JSON.stringify({
    created: collection.created,
    updated: collection.updated,
    system: collection.system,
    ...collection.auth,
  });
  const head = `"id":${JSON.stringify(collection.id)},${rules},"name":${JSON.stringify(collection.name)}`;
  return `{${head},"type":"${collection.type}","fields":[${fields}],"indexes":${indexes},${tail.slice(1)}`;
}
