import { createdField, idField, updatedField } from '../fields/field.ts';
import { withAccountFields } from './account-field.ts';
import { defaultAuthOptions } from './auth-options.ts';
import { lockedRules, type Collection } from './collection.ts';

/** Returns a definition to start from: what a collection of this type has when only its name is given. */
export function scaffoldCollection(type: Collection['type']): Collection {
  const fields = [idField(), createdField(), updatedField()];
  return {
    id: '',
    name: '',
    type,
    system: false,
    rules: lockedRules,
    fields: type === 'auth' ? withAccountFields(fields) : fields,
    // An auth collection gets its indexes when it has an id, which is part of their names.
    indexes: [],
    auth: type === 'auth' ? defaultAuthOptions : undefined,
    created: '',
    updated: '',
  };
}
