import { createdField, idField, updatedField } from '../fields/field.ts';
import { withAccountFields } from './account-field.ts';
import { defaultAuthOptions } from './auth-options.ts';
import { lockedRules, type Collection } from './collection.ts';

/** A definition to start from: what a collection of this type has when it is made from nothing but a name. */
export function scaffoldCollection(type: Collection['type']): Collection {
  const fields = [idField(), createdField(), updatedField()];
  return {
    id: '',
    name: '',
    type,
    system: false,
    rules: lockedRules,
    fields: type === 'auth' ? withAccountFields(fields) : fields,
    // An auth collection gets its own when it has an id, after which they are named.
    indexes: [],
    auth: type === 'auth' ? defaultAuthOptions : undefined,
    created: '',
    updated: '',
  };
}
