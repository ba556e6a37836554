import { AppError } from '../base/errors.ts';

/** The limit for the rows of one query, or an answer made of them: several of the largest bodies, and a bearable part of memory. */
export const answerBytesMax = 256 * 1024 * 1024;

/** The refusal of an answer that would take more memory than one request may. */
export function answerTooLarge(cause?: unknown): AppError {
  return new AppError('bad_request', 'The answer would be too large: ask for fewer records.', { cause });
}
