import type { Dialect } from './dialect.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** How an engine says what a filter means. */
export function dialectOf(_engine: 'sqlite' | 'postgres'): Dialect {
  return sqliteDialect;
}
