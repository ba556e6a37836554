/**
 * Returns a text for what a client sent: a text as it is, numbers and booleans as ECMAScript prints them, and an empty text for
 * everything else.
 */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
