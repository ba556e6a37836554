import { sql, type Sql } from '../../sql/sql.ts';
import type { Coordinate, Places } from '../dialect.ts';
import { isOperand, type Operand } from '../operand.ts';
import { numberOf, withSources } from '../postgres-value.ts';
import { numberOf as sqliteNumberOf } from '../sqlite-value.ts';

/** Computes in the same steps as geo-distance.ts, so that a distance is the same to the last digit. */
export function sqliteDistance({ lonA, latA, lonB, latB, radiusKm }: Places): Operand {
  const [toA, toB] = [radians(latA), radians(latB)];
  const cosine = sql`cos(${toA}) * cos(${toB}) * cos(${radians(lonB)} - ${radians(lonA)}) + sin(${toA}) * sin(${toB})`;
  // Rounding may exceed 1, where acos is undefined. min and max are NULL if an argument is. The cast gives the affinity of a number.
  const angle = sql`acos(max(-1.0, min(1.0, ${cosine})))`;
  return { sql: sql`CAST(${radiusKm} * ${angle} AS REAL)`, kind: 'number' };
}

/** Infinity becomes NULL, as it has no sine. Tiny values become 0, because in PostgreSQL a product that underflows is an error. */
function radians(coordinate: Coordinate): Sql {
  const degrees = isOperand(coordinate) ? sqliteNumberOf(coordinate) : sql`${coordinate}`;
  return sql`radians(CASE WHEN ${degrees} BETWEEN -1e-100 AND 1e-100 THEN 0.0 WHEN ${degrees} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN ${degrees} END)`;
}

/** Computes in the same steps as geo-distance.ts. OFFSET 0 keeps the planner from evaluating a value once for each mention. */
export function postgresDistance({ lonA, latA, lonB, latB, radiusKm }: Places): Operand {
  const values = sql`SELECT ${degrees(lonA)} AS "$lonA", ${degrees(latA)} AS "$latA", ${degrees(lonB)} AS "$lonB", ${degrees(latB)} AS "$latB" OFFSET 0`;
  const angles = sql`SELECT ${postgresRadians(sql`"$lonA"`)} AS "$lonA", ${postgresRadians(sql`"$latA"`)} AS "$latA", ${postgresRadians(sql`"$lonB"`)} AS "$lonB", ${postgresRadians(sql`"$latB"`)} AS "$latB" FROM (${values}) AS "$degrees" OFFSET 0`;
  const cosine = sql`SELECT cos("$latA") * cos("$latB") * cos("$lonB" - "$lonA") + sin("$latA") * sin("$latB") AS "$cosine" FROM (${angles}) AS "$radians" OFFSET 0`;
  // Rounding may exceed 1, where acos() fails. Not by least() and greatest(), which ignore NULL.
  const clamped = sql`CASE WHEN "$cosine" > 1 THEN 1 WHEN "$cosine" < -1 THEN -1 ELSE "$cosine" END`;
  return {
    sql: sql`(SELECT ${radiusKm}::double precision * acos(${clamped}) FROM (${cosine}) AS "$angle")`,
    kind: 'number',
  };
}

function degrees(coordinate: Coordinate): Sql {
  if (!isOperand(coordinate)) return sql`${coordinate}::double precision`;
  const value = numberOf(coordinate);
  return withSources(sql`(${value.number})::double precision`, value);
}

/** Converts degrees to radians. cos() and sin() fail on infinity, so that becomes NULL; underflow fails, so tiny values become 0. */
function postgresRadians(value: Sql): Sql {
  return sql`radians(CASE WHEN ${value} BETWEEN -1e-100::double precision AND 1e-100::double precision THEN 0 WHEN ${value} BETWEEN -1.7976931348623157e308::double precision AND 1.7976931348623157e308::double precision THEN ${value} END)`;
}
