import type { Field } from '../fields/field.ts';

/**
 * What the values of a password field are called among a record's secrets. By id, as a field keeps it whatever its name; the
 * service's own have their names, which never change. Apart from those: a client may choose any id, `tokenKey` too.
 */
export function secretName(field: Field): string {
  return field.system ? field.name : `field:${field.id}`;
}
