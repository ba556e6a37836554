import { matchLike } from '../base/match-like.ts';
import type { SqlValue } from './sql.ts';

/**
 * A function that every SQLite connection registers, for LIKE with the escape `\` in a large text, given as a BLOB: SQLite's own LIKE
 * takes seconds for a long pattern in a text of megabytes, and cannot be interrupted meanwhile.
 */
export const likeFunction = {
  name: '$like',
  call: (text: SqlValue, pattern: SqlValue): number | null =>
    text instanceof Uint8Array && typeof pattern === 'string' ? Number(matchLike(text, pattern)) : null,
} as const;
