/** How headers are read, whatever server they are from. */
import { MissingHeaderError } from './webhook-errors.ts';

/** `Headers`, or the plain object of a Node request; names in any case. */
export type HeaderSource =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the value of a header, whose name is in lower case. Throws a MissingHeaderError when it is absent or empty. */
export function getHeader(headers: HeaderSource, name: string): string {
  const value = findHeader(headers, name);
  if (value === undefined) throw new MissingHeaderError(name);
  return value;
}

/** Returns the value of a header, whose name is in lower case; undefined when it is absent or empty. */
export function findHeader(headers: HeaderSource, name: string): string | undefined {
  if (hasGet(headers)) return headers.get(name) || undefined;
  const found = name in headers ? name : Object.keys(headers).find((key) => key.toLowerCase() === name);
  const value = found === undefined ? undefined : headers[found];
  // A header that came twice is one that nobody has signed: joined, it verifies with no secret.
  return (typeof value === 'object' ? value.join(', ') : value) || undefined;
}

export function toNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function hasGet(headers: HeaderSource): headers is { get(name: string): string | null | undefined } {
  return typeof headers['get'] === 'function';
}
