import { sql, type Sql } from '../sql/sql.ts';
import type { Coordinate, Places } from './dialect.ts';
import { isOperand, type Operand } from './operand.ts';
import { numberOf } from './sqlite-value.ts';

/** Computes in the same steps as postgres-distance.ts, so that a distance is the same to the last digit. */
export function sqliteDistance({ lonA, latA, lonB, latB, radiusKm }: Places): Operand {
  const [toA, toB] = [radians(latA), radians(latB)];
  const cosine = sql`cos(${toA}) * cos(${toB}) * cos(${radians(lonB)} - ${radians(lonA)}) + sin(${toA}) * sin(${toB})`;
  // Rounding may exceed 1, where acos is undefined. min and max are NULL if an argument is. The cast gives the affinity of a number.
  const angle = sql`acos(max(-1.0, min(1.0, ${cosine})))`;
  return { sql: sql`CAST(${radiusKm} * ${angle} AS REAL)`, kind: 'number' };
}

/** Infinity becomes NULL, as it has no sine. Tiny values become 0, because in PostgreSQL a product that underflows is an error. */
function radians(coordinate: Coordinate): Sql {
  const degrees = isOperand(coordinate) ? numberOf(coordinate) : sql`${coordinate}`;
  return sql`radians(CASE WHEN ${degrees} BETWEEN -1e-100 AND 1e-100 THEN 0.0 WHEN ${degrees} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN ${degrees} END)`;
}
