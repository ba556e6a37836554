import type { Field } from '../fields/field.ts';

/** To all but superusers a hidden field is no field at all; only their own password everybody sets. */
export function mayWriteField(field: Field, isSuperuser: boolean): boolean {
  return !field.hidden || isSuperuser || isOwnPassword(field);
}

function isOwnPassword({ system, name, type }: Field): boolean {
  return system && type === 'password' && name === 'password';
}
