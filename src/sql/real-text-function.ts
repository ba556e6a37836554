import { realText } from '../base/real-text.ts';
import type { SqlValue } from './sql.ts';

/** What every connection to SQLite has and statements call where a REAL becomes a text: the engine's own digits are not always the nearest. */
export const realTextFunction = {
  name: '$real_text',
  call: (value: SqlValue): string | null => (value === null ? null : realText(Number(value))),
} as const;
