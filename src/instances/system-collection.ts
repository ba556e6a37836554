import type { Timestamp } from '../base/timestamp.ts';
import { withAccountFields } from '../collections/account-field.ts';
import { withAccountIndexes } from '../collections/account-indexes.ts';
import type { AuthOptions } from '../collections/auth-options.ts';
import { lockedRules, type Collection, type Rules } from '../collections/collection.ts';
import type { IndexDefinition } from '../collections/index-definition.ts';
import type { RawOptions } from '../fields/field-type.ts';
import { createdField, idField, ownField, updatedField } from '../fields/field.ts';

export interface SystemCollectionOptions {
  readonly id: string;
  readonly name: string;
  readonly now: Timestamp;
  readonly rules?: Partial<Rules>;
  /** Fields that follow `id` and an account's own, before the dates. */
  readonly fields?: readonly RawOptions[];
  readonly indexes?: readonly IndexDefinition[];
  /** Makes it an auth collection. */
  readonly auth?: AuthOptions;
}

/** Returns a collection that the service itself makes. */
export function systemCollection(options: SystemCollectionOptions): Collection {
  const { id, name, now, rules, fields = [], indexes = [], auth } = options;
  const own = fields.map((raw) => ownField({ ...raw, system: true }));
  const dates = [createdField(), updatedField()].map((field) => ({ ...field, system: true }));
  const all = [idField(), ...own, ...dates];
  return {
    id,
    name,
    type: auth === undefined ? 'base' : 'auth',
    system: true,
    rules: { ...lockedRules, ...rules },
    fields: auth === undefined ? all : withAccountFields(all),
    indexes: auth === undefined ? indexes : withAccountIndexes(id, indexes),
    auth,
    created: now,
    updated: now,
  };
}
