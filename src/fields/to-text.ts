/** Text of what a client sent: text itself, numbers and booleans as ECMAScript prints them; everything else is empty. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
