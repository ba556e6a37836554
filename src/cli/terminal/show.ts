import picocolors from 'picocolors';
import { printable, printableLines } from '../../base/printable.ts';
import type { JsonObject } from '../../base/json.ts';
import { type CommandIo, print, printStyled } from './print.ts';

/** How a list is shown: a member of its items by name, or what is made of an item. */
export type Column =
  | string
  | {
      readonly title: string;
      readonly of: (item: JsonObject) => unknown;
      /** How wide its cells usually are, where a table cannot wait for all of them. */
      readonly width?: number;
    };

export interface ShowOptions {
  readonly columns: readonly Column[];
  readonly isJson: boolean;
}

export type Colors = ReturnType<typeof picocolors.createColors>;

const gap = '  ';
/** Cells of a table on a terminal; with fewer columns than the window has room for, the last is not cut. */
const cellLengthMax = 40;
const windowDefault = 80;

/** Shows a list: as a table on a terminal, elsewhere as a line for each item with tabs between, or as JSON. */
export async function showList(
  io: CommandIo,
  items: readonly JsonObject[],
  { columns, isJson }: ShowOptions,
): Promise<void> {
  if (isJson) return showJson(io, items);
  const rows = items.map((item) => columns.map((column) => cellOf(item, column)));
  const isTable = io.stdout.isTTY === true;
  const lines = (): string => rows.map((row) => `${row.join('\t')}\n`).join('');
  await printStyled(io, isTable ? tableText(io, columns.map(titleOf), rows) : lines());
}

/**
 * Returns what shows items of a list as they come: on a terminal in columns, elsewhere as a line for each with tabs between, or each as JSON
 * on a line. It resolves to false once nobody reads it any more.
 */
export function streamOf(
  io: CommandIo,
  { columns, isJson }: ShowOptions,
): (items: readonly JsonObject[]) => Promise<boolean> {
  if (isJson) return (items) => print(io, items.map((item) => `${jsonText(item)}\n`).join(''));
  let widths: readonly number[] | undefined;
  return (items) => {
    const rows = items.map((item) => columns.map((column) => cellOf(item, column)));
    if (io.stdout.isTTY !== true) return print(io, rows.map((row) => `${row.join('\t')}\n`).join(''));
    if (rows.length === 0) return Promise.resolve(true);
    const isFirst = widths === undefined;
    const titles = columns.map(titleOf);
    widths ??= widthsOf(titles, rows, columns);
    const { head, lines } = tableLines(io, { titles, rows, widths });
    return printStyled(io, [...(isFirst ? [head] : []), ...lines].map((line) => `${line}\n`).join(''));
  };
}

/** Shows one thing: a line for each of its members, or JSON. */
export async function showItem(
  io: CommandIo,
  item: JsonObject,
  { isJson }: Pick<ShowOptions, 'isJson'>,
): Promise<void> {
  if (isJson) return showJson(io, item);
  const members = Object.entries(item).map(([name, value]) => [printable(name), cellText(value)] as const);
  if (io.stdout.isTTY !== true) {
    await print(io, members.map((member) => `${member.join('\t')}\n`).join(''));
    return;
  }
  const width = Math.max(...members.map(([name]) => name.length));
  const { bold } = colorsOf(io);
  const lines = members.map(([name, text]) => `${bold(name.padEnd(width))}${gap}${text}\n`);
  await printStyled(io, lines.join(''));
}

export async function showJson(io: CommandIo, json: unknown): Promise<void> {
  await print(io, `${jsonText(json, 2)}\n`);
}

/** Returns JSON without the characters that JSON itself would leave as they are, and a terminal would obey or hide: the escapes mean the same. */
export function jsonText(json: unknown, indent?: number): string {
  return printableLines(JSON.stringify(json, null, indent));
}

/** Colors for a terminal whose user wants them, and none elsewhere (https://no-color.org). */
export function colorsOf({ stdout, environment }: CommandIo): Colors {
  const isUnwanted = (environment?.['NO_COLOR'] ?? '') !== '' || environment?.['TERM'] === 'dumb';
  // Without an environment of its own, the library has looked at that of the process.
  const isWanted = environment === undefined ? picocolors.isColorSupported : !isUnwanted;
  return picocolors.createColors(stdout.isTTY === true && isWanted);
}

function titleOf(column: Column): string {
  return typeof column === 'string' ? column : column.title;
}

function cellOf(item: JsonObject, column: Column): string {
  return cellText(typeof column === 'string' ? item[column] : column.of(item));
}

/** Returns a value on one line. Control characters are replaced, as a terminal would obey them. */
function cellText(value: unknown): string {
  return printable(plainText(value).replaceAll(/[\t\n\r]+/g, ' '));
}

/** Returns a value as text: a list of texts with commas between, anything else that has members as JSON. */
function plainText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  const isTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isTexts ? value.join(',') : JSON.stringify(value);
}

/** Returns a table as wide as the window at most: columns that have no room are left out, and said to be. */
function tableText(io: CommandIo, titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const { head, lines, left } = tableLines(io, { titles, rows, widths: widthsOf(titles, rows) });
  const note = left.length === 0 ? [] : [colorsOf(io).dim(`and ${left.join(', ')}: see --json`)];
  return [head, ...lines, ...note].map((line) => `${line}\n`).join('');
}

function widthsOf(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  columns: readonly Column[] = [],
): readonly number[] {
  return titles.map((title, at) => {
    const column = columns[at];
    const usual = typeof column === 'object' ? (column.width ?? 0) : 0;
    const widest = Math.max(title.length, usual, ...rows.map((row) => row[at]?.length ?? 0));
    return Math.min(cellLengthMax, widest);
  });
}

interface Table {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly widths: readonly number[];
}

function tableLines(
  io: CommandIo,
  { titles, rows, widths }: Table,
): { readonly head: string; readonly lines: readonly string[]; readonly left: readonly string[] } {
  const room = roomOf(titles, widths, io.stdout.columns ?? windowDefault);
  const line = (cells: readonly string[]): string =>
    cells
      .slice(0, room.length)
      .map((cell, at) => cut(cell, room[at] ?? 0).padEnd(at === room.length - 1 ? 0 : (room[at] ?? 0)))
      .join(gap);
  return { head: colorsOf(io).bold(line(titles)), lines: rows.map(line), left: titles.slice(room.length) };
}

const cutWidthMin = 12;

/** Returns the widths of the columns that a window has room for: at least the first, and the last of them may be narrower than it would be. */
function roomOf(titles: readonly string[], widths: readonly number[], window: number): readonly number[] {
  const room: number[] = [];
  let used = 0;
  for (const [at, width] of widths.entries()) {
    const left = window - used - (at === 0 ? 0 : gap.length);
    const isCut = width > left;
    if (isCut && at > 0 && left < Math.max(cutWidthMin, titles[at]?.length ?? 0)) break;
    room.push(at === 0 ? width : Math.min(width, left));
    if (isCut) break;
    used = window - left + width;
  }
  return room;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
