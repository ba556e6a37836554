import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import { isOperand, numberOfText, type Operand } from '../operand.ts';
import type { CallNode, OperandNode } from '../parse.ts';
import { numberOf, withSources } from '../postgres-value.ts';
import { numberOf as sqliteNumberOf } from '../sqlite-value.ts';
import {
  type CallContext,
  type FilterFunction,
  resolveArgument,
  wrongArgument,
  wrongCount,
} from './filter-function.ts';

/** Kilometres by the spherical law of cosines; NULL where a coordinate is NULL, no number or infinite. */
export const geoDistance: FilterFunction = { name: 'geoDistance', resolve };

/** Two places, in degrees. No coordinate is a text operand. */
interface Places {
  readonly lonA: Coordinate;
  readonly latA: Coordinate;
  readonly lonB: Coordinate;
  readonly latB: Coordinate;
}

type Coordinate = Operand | number | null;

const earthRadiusKm = 6_371;

function resolve(node: CallNode, context: CallContext): Operand {
  const [lonA, latA, lonB, latB, ...more] = node.arguments;
  if (
    lonA === undefined ||
    latA === undefined ||
    lonB === undefined ||
    latB === undefined ||
    more.length > 0
  ) {
    throw wrongCount('4 arguments of "geoDistance" (lonA, latA, lonB, latB)', node);
  }
  const toCoordinate = (argument: OperandNode): Coordinate => coordinateOf(argument, context.resolve);
  const places = {
    lonA: toCoordinate(lonA),
    latA: toCoordinate(latA),
    lonB: toCoordinate(lonB),
    latB: toCoordinate(latB),
  };
  const distance = distanceOn[context.engine](places);
  // `many` is left out: where a row has many values, the distance uses only the one that the rest of the condition uses (http-api 8.2).
  const guards = Object.values(places).flatMap((place) =>
    isOperand(place) && place.guard !== undefined ? [sql`(${place.guard})`] : [],
  );
  return guards.length === 0 ? distance : { ...distance, guard: joinSql(guards, ' AND ') };
}

function coordinateOf(argument: OperandNode, resolve: CallContext['resolve']): Coordinate {
  if (argument.kind === 'text' || argument.kind === 'call')
    throw wrongArgument('a field or a number', argument);
  const value = resolveArgument(argument, resolve);
  if (isOperand(value) && (value.kind === 'text' || value.kind === 'date'))
    throw wrongArgument('a field of numbers', argument);
  // Values of the request's query are always texts.
  return typeof value === 'string' ? (numberOfText(value) ?? null) : value;
}

const distanceOn = { sqlite: sqliteDistance, postgres: postgresDistance } as const;

/** Computes in the same steps as on PostgreSQL, so that a distance is the same to the last digit. */
function sqliteDistance({ lonA, latA, lonB, latB }: Places): Operand {
  const [toA, toB] = [radians(latA), radians(latB)];
  const cosine = sql`cos(${toA}) * cos(${toB}) * cos(${radians(lonB)} - ${radians(lonA)}) + sin(${toA}) * sin(${toB})`;
  // Rounding may exceed 1, where acos is undefined. min and max are NULL if an argument is. The cast gives the affinity of a number.
  const angle = sql`acos(max(-1.0, min(1.0, ${cosine})))`;
  return { sql: sql`CAST(${earthRadiusKm} * ${angle} AS REAL)`, kind: 'number' };
}

/** Infinity becomes NULL, as it has no sine. Tiny values become 0, because in PostgreSQL a product that underflows is an error. */
function radians(coordinate: Coordinate): Sql {
  const degrees = isOperand(coordinate) ? sqliteNumberOf(coordinate) : sql`${coordinate}`;
  return sql`radians(CASE WHEN ${degrees} BETWEEN -1e-100 AND 1e-100 THEN 0.0 WHEN ${degrees} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN ${degrees} END)`;
}

/** Computes in the same steps as on SQLite. OFFSET 0 keeps the planner from evaluating a value once for each mention. */
function postgresDistance({ lonA, latA, lonB, latB }: Places): Operand {
  const values = sql`SELECT ${degrees(lonA)} AS "$lonA", ${degrees(latA)} AS "$latA", ${degrees(lonB)} AS "$lonB", ${degrees(latB)} AS "$latB" OFFSET 0`;
  const angles = sql`SELECT ${postgresRadians(sql`"$lonA"`)} AS "$lonA", ${postgresRadians(sql`"$latA"`)} AS "$latA", ${postgresRadians(sql`"$lonB"`)} AS "$lonB", ${postgresRadians(sql`"$latB"`)} AS "$latB" FROM (${values}) AS "$degrees" OFFSET 0`;
  const cosine = sql`SELECT cos("$latA") * cos("$latB") * cos("$lonB" - "$lonA") + sin("$latA") * sin("$latB") AS "$cosine" FROM (${angles}) AS "$radians" OFFSET 0`;
  // Rounding may exceed 1, where acos() fails. Not by least() and greatest(), which ignore NULL.
  const clamped = sql`CASE WHEN "$cosine" > 1 THEN 1 WHEN "$cosine" < -1 THEN -1 ELSE "$cosine" END`;
  return {
    sql: sql`(SELECT ${earthRadiusKm}::double precision * acos(${clamped}) FROM (${cosine}) AS "$angle")`,
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
