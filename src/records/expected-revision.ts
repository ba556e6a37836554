import { AppError } from '../base/errors.ts';
import type { StoredRecord } from './record.ts';

/** What a client last knew of the record that it changes: `any` only says that there is one. */
export type ExpectedRevision = 'any' | readonly number[];

/** Throws precondition_failed when the record, or its absence, is not what was expected; undefined expects nothing. */
export function requireExpected(
  expected: ExpectedRevision | undefined,
  existing: StoredRecord | undefined,
): void {
  if (expected === undefined) return;
  if (existing !== undefined && (expected === 'any' || expected.includes(existing.revision))) return;
  throw new AppError('precondition_failed', 'The record has changed.');
}
