import { text } from 'node:stream/consumers';
import { isJsonObject, type JsonObject, withoutByteOrderMark } from '../../base/json.ts';
import { type Api, ApiRefusal, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { CsvError, readCsv } from './csv.ts';
import { cellValue, type FieldShape, fieldShapes } from './record-values.ts';

/** A record of a file, or why a part of the file is none. */
export interface InputRow {
  /** Where it begins, as `line 7`. */
  readonly place: string;
  readonly values: JsonObject;
  readonly problem?: string;
}

export const rowFormats = ['csv', 'json', 'ndjson'] as const;
export type RowFormat = (typeof rowFormats)[number];

/** Returns the format that the end of a file's name says; undefined where it says none. */
export function formatOf(path: string): RowFormat | undefined {
  return rowFormats.find((format) => path.toLowerCase().endsWith(`.${format}`));
}

/** Returns the fields of the collection; undefined for an API key that may not see definitions. */
export async function readShapes(api: Api, collection: string): Promise<readonly FieldShape[] | undefined> {
  try {
    const path = `/api/collections/${encodeURIComponent(collection)}`;
    return fieldShapes(objectOf(await api.request('GET', path)));
  } catch (error) {
    if (error instanceof ApiRefusal && error.exitCode === exitCodes.permission) return undefined;
    throw error;
  }
}

/** What is known of the rows of a file. */
interface RowForm {
  readonly format: RowFormat;
  readonly shapes: readonly FieldShape[] | undefined;
  /** In CSV, apostrophes before what a spreadsheet would run are a part of the text. */
  readonly isRaw: boolean;
}

/** A line is in memory as a whole. */
const lineLengthMax = 32 * 1024 * 1024;

/**
 * Reads the records of a file, piece by piece except for `json`, which is one text. Without `shapes` nothing is known of the fields: cells of a table
 * are texts then, and any member is taken. Throws CommandError where the file cannot be read on.
 */
export async function* readRows(
  pieces: AsyncIterable<string>,
  { format, shapes, isRaw }: RowForm,
): AsyncGenerator<InputRow> {
  const rows =
    format === 'csv'
      ? csvRows(pieces, { shapes, isRaw })
      : format === 'json'
        ? jsonRows(pieces)
        : lineRows(pieces);
  const names = shapes && knownNames(shapes);
  for await (const row of rows) yield names === undefined ? row : checked(row, names);
}

async function* csvRows(
  pieces: AsyncIterable<string>,
  form: Omit<RowForm, 'format'>,
): AsyncGenerator<InputRow> {
  let names: readonly string[] | undefined;
  try {
    for await (const { line, cells } of readCsv(pieces)) {
      if (names === undefined) names = requireNames(cells);
      else yield csvRow(`line ${line}`, cells, { names, ...form });
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandError(exitCodes.refused, `line ${error.line}: this is no CSV: ${error.message}.`, {
      cause: error,
    });
  }
}

/** The first row names the columns. Throws CommandError where two have the same name, or one has none. */
function requireNames(cells: readonly string[]): readonly string[] {
  const names = cells.map((cell) => cell.trim());
  const wrong = names.find((name, at) => name === '' || names.indexOf(name) !== at);
  if (wrong === undefined) return names;
  const why = wrong === '' ? 'a column without a name' : `the column ${wrong} twice`;
  throw new CommandError(exitCodes.refused, `The first line has ${why}: it must name the fields.`);
}

interface Header extends Omit<RowForm, 'format'> {
  readonly names: readonly string[];
}

function csvRow(place: string, cells: readonly string[], { names, shapes, isRaw }: Header): InputRow {
  if (cells.length !== names.length)
    return { place, values: {}, problem: `expected ${names.length} cells, found ${cells.length}.` };
  const values: Record<string, unknown> = {};
  try {
    for (const [at, name] of names.entries()) {
      const cell = cells[at] ?? '';
      const shape = shapes?.find((field) => field.name === name);
      const value = cellValue(cell, { shape, isRaw });
      if (value !== undefined) values[name] = value;
    }
    return { place, values };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { place, values: {}, problem: error.message };
  }
}

async function* jsonRows(pieces: AsyncIterable<string>): AsyncGenerator<InputRow> {
  const json = parseOrUndefined(withoutByteOrderMark(await text(pieces)));
  const items = Array.isArray(json) ? json : isJsonObject(json) ? json['items'] : undefined;
  if (!Array.isArray(items))
    throw new CommandError(
      exitCodes.refused,
      'The file is not a JSON list of records: for one on each line give --format ndjson.',
    );
  for (const [at, item] of items.entries()) yield objectRow(`record ${at + 1}`, item);
}

async function* lineRows(pieces: AsyncIterable<string>): AsyncGenerator<InputRow> {
  let number = 0;
  for await (const line of linesOf(pieces)) {
    number += 1;
    if (line.trim() === '') continue;
    yield objectRow(`line ${number}`, parseOrUndefined(line));
  }
}

/** Unlike Node's readline it ends lines at LF only: others are part of texts, and line numbers would be wrong. */
async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  let isFirst = true;
  for await (const piece of pieces) {
    rest += isFirst ? withoutByteOrderMark(piece) : piece;
    isFirst = false;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lineLengthMax)
      throw new CommandError(exitCodes.refused, 'A line of the file is too long.');
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function parseOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function objectRow(place: string, item: unknown): InputRow {
  return isJsonObject(item)
    ? { place, values: item }
    : { place, values: {}, problem: 'this is not a JSON object.' };
}

/** Members that answers have and that are no fields, and those that accounts are made with. */
const furtherNames = ['collectionId', 'collectionName', 'expand', 'passwordConfirm'];

function knownNames(shapes: readonly FieldShape[]): ReadonlySet<string> {
  return new Set([...shapes.map(({ name }) => name), ...furtherNames]);
}

/** Refuses members that are no field: the service ignores them, and what was mistyped would be lost without a word. */
function checked(row: InputRow, names: ReadonlySet<string>): InputRow {
  if (row.problem !== undefined) return row;
  const unknown = Object.keys(row.values).find((name) => !names.has(name));
  if (unknown === undefined) return row;
  return { ...row, problem: `${unknown}: there is no such field.` };
}
