import type { Dialect } from './dialect.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

const dialects = { sqlite: sqliteDialect, postgres: postgresDialect } as const;

/** Returns the dialect of an engine, in which filters are written. */
export function dialectOf(engine: keyof typeof dialects): Dialect {
  return dialects[engine];
}
