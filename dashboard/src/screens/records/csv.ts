/** Reads CSV (RFC 4180): fields in quotes may hold separators, breaks and doubled quotes. The separator is the one the first line has most of. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const source = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(source);
  const rows: string[][] = [];
  let [row, cell, isQuoted, hasQuotes]: [string[], string, boolean, boolean] = [[], '', false, false];
  const endRow = (): void => {
    row.push(cell);
    // An empty line is no record.
    if (row.length > 1 || row[0] !== '' || hasQuotes) rows.push(row);
    [row, cell, hasQuotes] = [[], '', false];
  };
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index] ?? '';
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (source[index + 1] === '"') {
        cell += '"';
        index += 1;
      } else isQuoted = false;
    } else if (character === '"' && cell === '') [isQuoted, hasQuotes] = [true, true];
    else if (character === separator) {
      row.push(cell);
      cell = '';
    } else if (character === '\n') endRow();
    else if (character !== '\r' || source[index + 1] !== '\n') cell += character;
  }
  if (cell !== '' || row.length > 0 || hasQuotes) endRow();
  return rows;
}

function separatorOf(text: string): string {
  const [line = ''] = text.split('\n', 1);
  const counts = [',', ';', '\t'].map((one) => ({ one, count: line.split(one).length }));
  return counts.toSorted((a, b) => b.count - a.count)[0]?.one ?? ',';
}

/** A line of CSV. */
export function formatCsvLine(cells: readonly string[]): string {
  // A line with one empty cell would be an empty line, which is no record.
  return `${cells.length === 1 && cells[0] === '' ? '""' : cells.map(quote).join(',')}\r\n`;
}

/**
 * A text as a cell. What a spreadsheet would take for a formula, also behind apostrophes, gets one more apostrophe in front, as it would be run on
 * the machine of whoever opens the file. The command line does the same.
 */
export function cellOfText(text: string): string {
  return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/** The text that a cell stands for. */
export function textOfCell(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

function quote(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
