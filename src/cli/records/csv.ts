import { withoutByteOrderMark } from '../../base/json.ts';

/** A row of a table, and the line that it begins in, counted from 1. */
export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** The text is no CSV from this line on. */
export class CsvError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** A single cell is in memory as a whole. */
const cellLengthMax = 16 * 1024 * 1024;

/**
 * Reads comma-separated values as RFC 4180 has them, in pieces: cells in quotes may hold commas, line ends and doubled quotes. Lines end with LF or
 * CRLF, empty ones are skipped. Throws CsvError.
 */
export async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<CsvRow> {
  const state = new CsvState();
  for await (const piece of pieces) yield* state.take(piece);
  yield* state.end();
}

/** Where a reader is in a text. */
class CsvState {
  #cells: string[] = [];
  #cell = '';
  /** In quotes, behind the quote that may have ended them, or outside of any. */
  #place: 'outside' | 'quoted' | 'after quote' = 'outside';
  #line = 1;
  #rowLine = 1;
  #isFirst = true;

  *take(piece: string): Generator<CsvRow> {
    const text = this.#isFirst ? withoutByteOrderMark(piece) : piece;
    this.#isFirst = false;
    let at = 0;
    while (at < text.length) {
      // Everything up to the next character that means something.
      const next = this.#place === 'quoted' ? text.indexOf('"', at) : nextOf(text, at);
      const plain = text.slice(at, next === -1 ? text.length : next);
      if (plain !== '') this.#addPlain(plain);
      if (next === -1) return;
      at = next + 1;
      yield* this.#step(text[next] ?? '');
    }
  }

  *end(): Generator<CsvRow> {
    if (this.#place === 'quoted') throw new CsvError(this.#rowLine, 'a quote is not closed');
    if (this.#cell !== '' || this.#cells.length > 0 || this.#place === 'after quote') yield* this.#endRow();
  }

  #addPlain(plain: string): void {
    if (this.#place === 'after quote') {
      if (plain === '\r') return;
      throw new CsvError(this.#line, 'there is text behind a closing quote');
    }
    this.#cell += plain;
    if (this.#place === 'quoted') this.#line += plain.split('\n').length - 1;
    if (this.#cell.length > cellLengthMax) throw new CsvError(this.#rowLine, 'a cell is too long');
  }

  *#step(character: string): Generator<CsvRow> {
    if (character === '"') this.#quote();
    else if (character === ',') this.#endCell();
    else {
      yield* this.#endRow();
      this.#line += 1;
      this.#rowLine = this.#line;
    }
  }

  #quote(): void {
    if (this.#place === 'quoted') this.#place = 'after quote';
    else if (this.#place === 'after quote') {
      this.#cell += '"';
      this.#place = 'quoted';
    } else if (this.#cell === '') this.#place = 'quoted';
    else throw new CsvError(this.#line, 'there is a quote in a cell without quotes');
  }

  #endCell(): void {
    this.#cells.push(this.#cell);
    this.#cell = '';
    this.#place = 'outside';
  }

  *#endRow(): Generator<CsvRow> {
    const wasQuoted = this.#place === 'after quote';
    if (!wasQuoted && this.#cell.endsWith('\r')) this.#cell = this.#cell.slice(0, -1);
    const isEmpty = this.#cells.length === 0 && this.#cell === '' && !wasQuoted;
    this.#endCell();
    const cells = this.#cells;
    this.#cells = [];
    if (!isEmpty) yield { line: this.#rowLine, cells };
  }
}

/** Returns the next character with a meaning outside of quotes. */
function nextOf(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === ',' || character === '"' || character === '\n') return at;
  }
  return -1;
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
