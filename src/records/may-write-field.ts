import type { Field } from '../fields/field.ts';

/** Whether a caller may write the field. Only superusers may write hidden ones, except for an account's own password. */
export function mayWriteField(field: Field, isSuperuser: boolean): boolean {
  return !field.hidden || isSuperuser || isOwnPassword(field);
}

function isOwnPassword({ system, name, type }: Field): boolean {
  return system && type === 'password' && name === 'password';
}
