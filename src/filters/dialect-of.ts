import type { Dialect } from './dialect.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

const dialects = { sqlite: sqliteDialect, postgres: postgresDialect } as const;

/** How an engine says what a filter means. */
export function dialectOf(engine: keyof typeof dialects): Dialect {
  return dialects[engine];
}
