import type { Collection, Field, RecordModel } from '../../api/client.ts';
import type { FieldOf } from '../../api/collections.ts';
import type { RecordChanges } from '../../api/records.ts';
import { textOfCell } from './csv.ts';
import { type DraftValues, FileChange } from './record-draft.ts';

/** The value of a field as its control holds it, and back. */
interface Codec<Type extends Field['type']> {
  /** Returns what the control shows; of undefined, what an empty one holds. */
  readonly format: (value: unknown, field: FieldOf<Type>) => unknown;
  /** Returns what is sent. Throws DraftError for what the API would misunderstand; the API validates the rest. */
  readonly parse: (input: unknown, field: FieldOf<Type>) => unknown;
  /** Returns what a cell of CSV stands for. */
  readonly read: (text: string, field: FieldOf<Type>) => unknown;
}

/** An input that the API would misunderstand. */
export class DraftError extends Error {
  readonly field: string;

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

const text = { format: textOf, parse: asIs, read: textOfCell };
const oneOrMany = {
  format: (value: unknown, { maxSelect }: { readonly maxSelect: number }) =>
    value ?? (maxSelect > 1 ? [] : ''),
  parse: asIs,
  read: (cell: string, { maxSelect }: { readonly maxSelect: number }) =>
    maxSelect > 1 ? jsonOr(cell, () => cell.split(/[,;|]/).map((one) => one.trim())) : textOfCell(cell),
};

const codecs: { readonly [Type in Field['type']]: Codec<Type> } = {
  text,
  email: text,
  url: text,
  editor: text,
  password: text,
  date: text,
  autodate: text,
  select: oneOrMany,
  relation: oneOrMany,
  file: { ...oneOrMany, format: asIs },
  bool: {
    format: (value) => value === true,
    parse: asIs,
    read: (cell) => /^(?:true|yes|1)$/i.test(cell.trim()),
  },
  number: {
    format: (value) => (typeof value === 'number' ? String(value) : ''),
    parse: toNumber,
    read: toNumber,
  },
  json: {
    format: (value) => JSON.stringify(value, null, 2) ?? '',
    parse: parseJson,
    read: (cell) => jsonOr(cell, () => cell),
  },
  geoPoint: {
    // As texts, so that `-` and `1.` can be typed on the way to a number.
    format: pointOf,
    parse: (input, { name }) => {
      const { lon, lat } = pointOf(input);
      return { lon: toDegrees(name, 'longitude', lon), lat: toDegrees(name, 'latitude', lat) };
    },
    read: (cell) => jsonOr(cell, () => cell),
  },
};

function codecOf(field: Field): Codec<Field['type']> {
  // The entry of a type takes the fields of that type.
  return codecs[field.type] as Codec<Field['type']>;
}

/** Returns what the control of a field holds for a record; without one, for a value that is still to be entered. */
export function formatValue(field: Field, record: RecordModel | undefined): unknown {
  return codecOf(field).format(record?.[field.name], field);
}

/** Returns the value that a cell of CSV stands for. What does not fit is sent as it is, so that the API says what it expected. */
export function readCell(field: Field, cell: string): unknown {
  return codecOf(field).read(cell, field);
}

/** Returns the body that saves what controls hold. Throws DraftError. */
export function toChanges(collection: Collection, values: DraftValues, isNew: boolean): RecordChanges {
  const changes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const field = collection.fields.find((one) => one.name === name);
    if (field === undefined) continue;
    if (value instanceof FileChange) Object.assign(changes, fileMembers(field, value, isNew));
    else changes[name] = codecOf(field).parse(value, field);
    if (field.type === 'password' && collection.type === 'auth') changes[`${name}Confirm`] = value;
  }
  return changes;
}

function fileMembers(
  field: Field,
  { removed, added, order }: FileChange,
  isNew: boolean,
): Record<string, unknown> {
  const { name } = field;
  if (isNew) return { [name]: added };
  const isSingle = field.type === 'file' && field.maxSelect <= 1;
  if (isSingle && added.length > 0) return { [name]: added[0] };
  if (order !== undefined) return { [name]: [...order.filter((one) => !removed.includes(one)), ...added] };
  return {
    ...(added.length > 0 && { [`${name}+`]: added }),
    ...(removed.length > 0 && { [`${name}-`]: removed }),
  };
}

function asIs(value: unknown): unknown {
  return value;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A text that is no number is sent as it is: the API says what it expected. */
function toNumber(input: unknown): unknown {
  return Number.isNaN(Number(input)) ? input : Number(input);
}

function parseJson(input: unknown, { name }: Field): unknown {
  const source = textOf(input);
  if (source.trim() === '') return null;
  try {
    const value: unknown = JSON.parse(source);
    return value;
  } catch (error) {
    // The API would store it as a string.
    const reason = error instanceof Error ? error.message : String(error);
    throw new DraftError(name, `Invalid JSON: ${reason}`, { cause: error });
  }
}

function jsonOr(source: string, other: () => unknown): unknown {
  try {
    const value: unknown = JSON.parse(source);
    return value;
  } catch {
    return other();
  }
}

/** Returns the coordinates of a point as texts, whether it has numbers or texts. */
export function pointOf(value: unknown): { readonly lon: string; readonly lat: string } {
  if (typeof value !== 'object' || value === null || !('lon' in value) || !('lat' in value))
    return { lon: '0', lat: '0' };
  return { lon: String(value.lon), lat: String(value.lat) };
}

function toDegrees(field: string, coordinate: 'longitude' | 'latitude', source: string): number {
  const degrees = Number(source);
  const limit = coordinate === 'longitude' ? 180 : 90;
  if (!(Math.abs(degrees) <= limit))
    throw new DraftError(field, `The ${coordinate} must be a number from -${limit} to ${limit}.`);
  return degrees;
}
