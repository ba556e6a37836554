import type { Components, Schema } from './document.ts';

/** A reference to a part that is described once. */
export function reference(kind: keyof Components, name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A reference to a schema. */
export function schemaReference(name: string): Schema {
  return reference('schemas', name);
}
