import { fromTimestamp } from '../base/timestamp.ts';
import { readDate } from '../base/read-date.ts';
import { parameterError } from './list-parameters.ts';
import type { QueryReader } from './list-query.ts';

/** Reads a date of a query in milliseconds since 1970; undefined when it is left out. Throws bad_request. */
export function timeParameter(query: QueryReader, name: string): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const date = readDate(text) ?? '';
  if (date === '') throw parameterError(name, 'Expected a date such as 2026-11-20 09:35:20.114Z.');
  return fromTimestamp(date);
}
