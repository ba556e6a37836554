import { isJsonObject } from '../../base/json.ts';
import type { Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';

/** The schema of values that have the form of this one, which has every member that there can be. */
export function schemaLike(value: unknown): Schema {
  if (Array.isArray(value)) return { type: 'array', items: schemaLike(value[0] ?? '') };
  if (isJsonObject(value)) {
    const members = Object.entries(value).map(([name, member]) => [name, schemaLike(member)] as const);
    return objectSchema(Object.fromEntries(members));
  }
  return { type: typeof value };
}
