/** Reads CSV (RFC 4180): fields in quotes may hold separators, breaks and doubled quotes. The separator is the one the first line has most of. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const source = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(source);
  const rows: string[][] = [];
  let [row, cell, isQuoted]: [string[], string, boolean] = [[], '', false];
  const endRow = (): void => {
    row.push(cell);
    // An empty line is no record.
    if (row.length > 1 || row[0] !== '') rows.push(row);
    [row, cell] = [[], ''];
  };
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index] ?? '';
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (source[index + 1] === '"') {
        cell += '"';
        index += 1;
      } else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === separator) {
      row.push(cell);
      cell = '';
    } else if (character === '\n') endRow();
    else if (character !== '\r' || source[index + 1] !== '\n') cell += character;
  }
  if (cell !== '' || row.length > 0) endRow();
  return rows;
}

function separatorOf(text: string): string {
  const [line = ''] = text.split('\n', 1);
  const counts = [',', ';', '\t'].map((one) => ({ one, count: line.split(one).length }));
  return counts.toSorted((a, b) => b.count - a.count)[0]?.one ?? ',';
}

/**
 * A line of CSV. What a spreadsheet would take for a formula gets an apostrophe in front, as it would be run on the machine of whoever opens
 * the file.
 */
export function formatCsvLine(values: readonly unknown[]): string {
  return `${values.map((value) => quote(textOf(value))).join(',')}\r\n`;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return JSON.stringify(value);
}

function quote(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
