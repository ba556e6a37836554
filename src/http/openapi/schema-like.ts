import { isJsonObject } from '../../base/json.ts';
import type { Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';

/** Returns the schema of values shaped like this example, which must have every possible member. */
export function schemaLike(value: unknown): Schema {
  if (Array.isArray(value)) return { type: 'array', items: schemaLike(value[0] ?? '') };
  if (isJsonObject(value)) {
    const members = Object.entries(value).map(([name, member]) => [name, schemaLike(member)] as const);
    return objectSchema(Object.fromEntries(members));
  }
  return { type: typeof value };
}
