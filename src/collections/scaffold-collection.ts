import { createdField, idField, updatedField } from '../fields/field.ts';
import { lockedRules, type Collection } from './collection.ts';

/** A definition to start from: what a base collection has when it is made from nothing but a name. */
export function scaffoldCollection(): Collection {
  return {
    id: '',
    name: '',
    type: 'base',
    system: false,
    rules: lockedRules,
    fields: [idField(), createdField(), updatedField()],
    indexes: [],
    auth: undefined,
    created: '',
    updated: '',
  };
}
