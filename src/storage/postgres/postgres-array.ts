import { Buffer } from 'node:buffer';
import { assert } from '../../base/assert.ts';
import { sql, type Sql, type SqlValue } from '../../sql/sql.ts';

/** The values of one column of many rows. */
export interface PostgresArray {
  /** What is assigned to the column, whose own type may be a narrower one. */
  readonly type: Sql;
  readonly bytes: Buffer;
}

const texts = { type: sql`text[]`, oid: 25 };
const numbers = { type: sql`double precision[]`, oid: 701 };
const headBytes = 20;
const lengthBytes = 4;
const nullLength = -1;

/**
 * In the binary format (`array_recv` in PostgreSQL's arrayfuncs.c): dimensions, whether there is NULL, type, how many, lower bound,
 * then each element behind its length. The text format would have every quote in a text escaped, and read again by its server.
 */
export function toPostgresArray(values: readonly SqlValue[]): PostgresArray {
  const { type, oid } = values.some((value) => typeof value === 'number') ? numbers : texts;
  const bytes = Buffer.allocUnsafe(bytesOf(values));
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(oid, 8);
  bytes.writeInt32BE(values.length, 12);
  bytes.writeInt32BE(1, 16);
  let at = headBytes;
  for (const value of values) at = writeValue(bytes, at, value);
  return { type, bytes };
}

/** An array for each of so many columns of rows. */
export function toColumnArrays(
  width: number,
  rows: readonly (readonly SqlValue[])[],
): readonly PostgresArray[] {
  return Array.from({ length: width }, (_, column) =>
    toPostgresArray(rows.map((values) => values[column] ?? null)),
  );
}

function bytesOf(values: readonly SqlValue[]): number {
  let count = headBytes + lengthBytes * values.length;
  for (const value of values)
    count += typeof value === 'string' ? Buffer.byteLength(value) : value === null ? 0 : 8;
  return count;
}

/** Answers where the next one begins. */
function writeValue(bytes: Buffer, at: number, value: SqlValue): number {
  const start = at + lengthBytes;
  if (value === null) {
    bytes.writeInt32BE(nullLength, at);
    return start;
  }
  if (typeof value === 'string') {
    const length = bytes.write(value, start);
    bytes.writeInt32BE(length, at);
    return start + length;
  }
  assert(typeof value === 'number', 'rows that are inserted together hold texts, numbers and NULL');
  bytes.writeInt32BE(8, at);
  // As a text it would have no sign when it is zero.
  bytes.writeDoubleBE(value + 0, start);
  return start + 8;
}

/** An array as PostgreSQL reads it from text. */
export function arrayText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
