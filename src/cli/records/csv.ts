import { Readable } from 'node:stream';
import { CsvError as ParseError, parse } from 'csv-parse';

/** A row of a table, and the line that it begins in, counted from 1. */
export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** The text is no CSV from this line on. */
export class CsvError extends Error {
  readonly line: number;

  constructor(line: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.line = line;
  }
}

/** A row is in memory as a whole. */
const rowBytesMax = 64 * 1024 * 1024;

/** The errors of the parser that a file can cause, in our words. */
const problems: ReadonlyMap<string, string> = new Map([
  ['CSV_QUOTE_NOT_CLOSED', 'a quote is not closed'],
  ['CSV_INVALID_CLOSING_QUOTE', 'there is text behind a closing quote'],
  ['INVALID_OPENING_QUOTE', 'there is a quote in a cell without quotes'],
  ['CSV_MAX_RECORD_SIZE', 'a row is too long'],
]);

/**
 * Reads comma-separated values as RFC 4180 has them, in pieces: cells in quotes may hold commas, line ends and doubled quotes. Lines end with LF or
 * CRLF, empty ones are skipped. Throws CsvError.
 */
export async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<CsvRow> {
  const parser = parse({
    bom: true,
    info: true,
    record_delimiter: ['\n', '\r\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: rowBytesMax,
  });
  const source = Readable.from(pieces);
  source.once('error', (error) => parser.destroy(error));
  try {
    // With `info` the parser makes these.
    const rows = source.pipe(parser) as AsyncIterable<ParsedRow>;
    for await (const { info, record } of rows)
      yield { line: info.lines - linesWithin(record), cells: record };
  } catch (error) {
    const problem = error instanceof ParseError ? problems.get(error.code) : undefined;
    if (!(error instanceof ParseError) || problem === undefined) throw error;
    throw new CsvError(Number(error['lines']), problem, { cause: error });
  } finally {
    source.destroy();
  }
}

/** What the parser makes of a row with the option `info`. */
interface ParsedRow {
  /** `lines` counts those up to the end of the row. */
  readonly info: { readonly lines: number };
  readonly record: readonly string[];
}

function linesWithin(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
}

/**
 * Returns a text as a cell that no spreadsheet runs as a formula: what begins with `= + - @`, a tab or CR, also behind apostrophes, gets one more
 * apostrophe in front. {@link textOfCell} takes it away.
 */
export function cellOfText(text: string): string {
  return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/** Returns the text that {@link cellOfText} has made a cell of. */
export function textOfCell(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Returns a line of comma-separated values. */
export function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) =>
    /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
  );
  // A line with one empty cell would be an empty line, which is skipped.
  return `${quoted.length === 1 && quoted[0] === '' ? '""' : quoted.join(',')}\r\n`;
}
