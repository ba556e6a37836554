import { realText } from '../base/real-text.ts';
import type { SqlValue } from './sql.ts';

/** A function that every SQLite connection registers, to turn a REAL into text: SQLite's own digits are not always the nearest. */
export const realTextFunction = {
  name: '$real_text',
  call: (value: SqlValue): string | null => (value === null ? null : realText(Number(value))),
} as const;
