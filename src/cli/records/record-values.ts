import { text } from 'node:stream/consumers';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { ConfigError } from '../../config/config-error.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { cellOfText, textOfCell } from './csv.ts';
import type { CommandIo } from '../terminal/print.ts';

/**
 * Returns the values that arguments give: `title=Hello` is a text, which the service reads as the field wants it, `tags:=["a"]` is JSON, and
 * `-` a JSON object from standard input. Later ones win. Throws ConfigError.
 */
export async function readValues(args: readonly string[], { stdin }: CommandIo): Promise<JsonObject> {
  const values: Record<string, unknown> = {};
  for (const arg of args) {
    if (arg === '-') Object.assign(values, parseObject(await text(stdin)));
    else {
      const [, name = '', isJson, value = ''] = /^([^=:]+)(:?)=(.*)$/s.exec(arg) ?? [];
      if (name === '')
        throw new ConfigError(`Expected FIELD=TEXT, FIELD:=JSON or -, not ${JSON.stringify(arg)}.`);
      values[name] = isJson === '' ? value : parseJson(name, value);
    }
  }
  return values;
}

function parseJson(name: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (error) {
    throw new ConfigError(`${name}:= takes JSON, not ${JSON.stringify(value)}.`, { cause: error });
  }
}

function parseObject(input: string): JsonObject {
  try {
    const json: unknown = JSON.parse(input);
    if (isJsonObject(json)) return json;
  } catch {
    // Said below.
  }
  throw new CommandError(exitCodes.refused, 'Standard input is not a JSON object.');
}

/** What a cell of a table means depends on its field. */
export interface FieldShape {
  readonly name: string;
  readonly type: string;
  readonly isMultiple: boolean;
}

/** Returns the fields of a definition as the service answers it. */
export function fieldShapes(definition: JsonObject): readonly FieldShape[] {
  const fields = Array.isArray(definition['fields']) ? definition['fields'].filter(isJsonObject) : [];
  return fields.map(({ name, type, maxSelect }) => ({
    name: String(name),
    type: String(type),
    isMultiple: typeof maxSelect === 'number' && maxSelect > 1,
  }));
}

/** How a column is written and read. */
export interface CellForm {
  /** Undefined where nothing is known of the field: texts are texts then, everything else is JSON. */
  readonly shape: FieldShape | undefined;
  /** Texts are cells as they are, also those that a spreadsheet would run. */
  readonly isRaw: boolean;
}

/** Returns the cell of a table that stands for a value, which {@link cellValue} reads again. */
export function cellText(value: unknown, { shape, isRaw }: CellForm): string {
  if (value === undefined) return '';
  // In a column of JSON a text is JSON too, and null is not the same as nothing.
  if (shape?.type === 'json') return JSON.stringify(value);
  if (value === null) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  return isRaw ? value : cellOfText(value);
}

/**
 * Returns the value that a cell of a table stands for; undefined where an empty one says nothing. Throws CommandError for what the field cannot be,
 * where the service would refuse a whole batch; dates and others are left to it.
 */
export function cellValue(cell: string, { shape, isRaw }: CellForm): unknown {
  const text = isRaw ? cell : textOfCell(cell);
  if (shape === undefined) return text;
  const { name, type, isMultiple } = shape;
  if (cell === '') return type === 'json' || type === 'number' || type === 'bool' ? undefined : '';
  if (isMultiple) return cell.startsWith('[') ? parseCell(cell, name) : [cell];
  switch (type) {
    case 'number':
      return numberCell(cell, name);
    case 'bool':
      return boolCell(cell, name);
    case 'json':
    case 'geoPoint':
      return parseCell(cell, name);
    default:
      return text;
  }
}

function numberCell(cell: string, name: string): number {
  const value = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(cell) ? Number(cell) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw refused(name, 'a number', cell);
}

function boolCell(cell: string, name: string): boolean {
  if (['true', '1'].includes(cell.toLowerCase())) return true;
  if (['false', '0'].includes(cell.toLowerCase())) return false;
  throw refused(name, 'true or false', cell);
}

function parseCell(cell: string, name: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    throw refused(name, 'JSON', cell);
  }
}

function refused(name: string, expected: string, cell: string): CommandError {
  const excerpt = cell.length > 60 ? `${cell.slice(0, 60)}…` : cell;
  return new CommandError(
    exitCodes.refused,
    `${name}: expected ${expected}, found ${JSON.stringify(excerpt)}.`,
  );
}
