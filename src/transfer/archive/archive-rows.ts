import type { SqlValue } from '../../sql/sql.ts';
import type { InlineKind, Tuple } from '../../storage/database.ts';
import { refusedArchive } from './archive-format.ts';

/** The columns of the rows of a part, by which each is a JSON object on a line of its own. */
export type ArchivedColumns = readonly (readonly [name: string, kind: InlineKind])[];

/** A longer line is no row: the values of a row take less. */
const lineBytesMax = 512 * 1024 * 1024;

export function rowLine(columns: ArchivedColumns, row: Tuple): string {
  const members = columns.map(([name], at) => `${JSON.stringify(name)}:${toJson(row[at] ?? null)}`);
  return `{${members.join(',')}}\n`;
}

function toJson(value: SqlValue): string {
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** Returns the values of a row by these columns. Throws bad_request for a line that is no such row. */
export function parseRow(columns: ArchivedColumns, line: string): Tuple {
  const row = parseObject(line);
  if (Object.keys(row).length !== columns.length)
    throw refusedArchive('a row has other columns than its table.');
  return columns.map(([name, kind]) => toValue(row[name], kind));
}

function parseObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(line);
    // What is no object has no columns either.
    return { ...(parsed as Record<string, unknown>) };
  } catch (error) {
    throw refusedArchive('a line is no JSON.', error);
  }
}

function toValue(value: unknown, kind: InlineKind): Tuple[number] {
  if (value === null) return null;
  if (kind === 'number' && typeof value === 'number') return value;
  if (kind === 'text' && typeof value === 'string') return value;
  if (kind === 'bytes' && typeof value === 'string') return Buffer.from(value, 'base64');
  throw refusedArchive('a row has a value of the wrong type.');
}

/** Returns the lines of a content. Throws bad_request for one that is too long. */
export async function* linesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    let from = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      pieces.push(piece.subarray(from, end));
      yield Buffer.concat(pieces).toString('utf8');
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    pieces.push(piece.subarray(from));
    bytes += piece.length - from;
    if (bytes > lineBytesMax) throw refusedArchive('a line is too long.');
  }
  if (bytes > 0) throw refusedArchive('the last line has no end.');
}

const newline = '\n'.charCodeAt(0);
