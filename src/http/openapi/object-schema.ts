import type { Schema } from './document.ts';

/** An object whose members are all there, but for those named as optional. */
export function objectSchema(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties };
}
