import type { Field } from '../fields/field.ts';

/**
 * Returns the name of a password field's values among a record's secrets. It has the field's id, which stays when the field is
 * renamed. System fields use their names, which never change. The prefix keeps the two apart: a client may choose any id, even
 * `tokenKey`.
 */
export function secretName(field: Field): string {
  return field.system ? field.name : `field:${field.id}`;
}
