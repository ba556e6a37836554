import { Buffer } from 'node:buffer';
import { assert } from '../../base/assert.ts';
import { sql, type Sql, type SqlValue } from '../../sql/sql.ts';
import type { InlineKind } from '../database.ts';

/** The values of one column of many rows. */
export interface PostgresArray {
  /** The type of the array; the column itself may have a narrower type, to which the elements are converted on assignment. */
  readonly type: Sql;
  readonly bytes: Buffer;
}

/** The array types, with the object id of their elements' type (`pg_type.dat`). */
const types: Readonly<Record<InlineKind, { readonly type: Sql; readonly oid: number }>> = {
  text: { type: sql`text[]`, oid: 25 },
  number: { type: sql`double precision[]`, oid: 701 },
  bytes: { type: sql`bytea[]`, oid: 17 },
};

const headBytes = 20;
const lengthBytes = 4;
const nullLength = -1;

/** As {@link toArrayOf}, of numbers and NULLs if there is a number, otherwise of texts and NULLs. */
export function toPostgresArray(values: readonly SqlValue[]): PostgresArray {
  return toArrayOf(values.some((value) => typeof value === 'number') ? 'number' : 'text', values);
}

/**
 * Encodes values in the binary format (`array_recv` in PostgreSQL's arrayfuncs.c): number of dimensions, whether there are NULLs,
 * element type, length, lower bound, then each element behind its length. In the text format every quote would have to be escaped here
 * and unescaped by the server.
 */
export function toArrayOf(kind: InlineKind, values: readonly SqlValue[]): PostgresArray {
  const { type, oid } = types[kind];
  const bytes = Buffer.allocUnsafe(bytesOf(kind, values));
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(oid, 8);
  bytes.writeInt32BE(values.length, 12);
  bytes.writeInt32BE(1, 16);
  let at = headBytes;
  for (const value of values) at = writeValue(bytes, at, value);
  return { type, bytes };
}

/** Turns rows of `width` columns into one array for each column. */
export function toColumnArrays(
  width: number,
  rows: readonly (readonly SqlValue[])[],
): readonly PostgresArray[] {
  return Array.from({ length: width }, (_, column) =>
    toPostgresArray(rows.map((values) => values[column] ?? null)),
  );
}

function bytesOf(kind: InlineKind, values: readonly SqlValue[]): number {
  let count = headBytes + lengthBytes * values.length;
  for (const value of values) count += valueBytesOf(kind, value);
  return count;
}

function valueBytesOf(kind: InlineKind, value: SqlValue): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (value instanceof Uint8Array) {
    assert(kind === 'bytes', 'an array of another kind holds no bytes');
    return value.length;
  }
  return value === null ? 0 : 8;
}

/** Writes an element at `at`; returns the offset of the next one. */
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
  if (value instanceof Uint8Array) {
    bytes.set(value, start);
    bytes.writeInt32BE(value.length, at);
    return start + value.length;
  }
  assert(typeof value === 'number', 'a bulk insert holds texts, numbers and NULL');
  bytes.writeInt32BE(8, at);
  // Turns -0 into 0, which it would also be if it were sent as a text.
  bytes.writeDoubleBE(value + 0, start);
  return start + 8;
}

/** Encodes texts as an array in PostgreSQL's text format. */
export function arrayText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
