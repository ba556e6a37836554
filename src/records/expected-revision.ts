import { AppError } from '../base/errors.ts';
import type { StoredRecord } from './record.ts';

/** The revisions that a client expects of the record it changes (If-Match); `any` only expects that the record exists. */
export type ExpectedRevision = 'any' | readonly number[];

/** Throws precondition_failed when the record, or its absence, is not what was expected. Undefined expects nothing. */
export function requireExpected(
  expected: ExpectedRevision | undefined,
  existing: StoredRecord | undefined,
): void {
  if (expected === undefined) return;
  if (existing !== undefined && (expected === 'any' || expected.includes(existing.revision))) return;
  throw new AppError('precondition_failed', 'The record has changed.');
}
