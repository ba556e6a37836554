import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';
import type { JsonSchema } from './value-schema.ts';

type GeoPointOptions = Readonly<{ required: boolean }>;

/** Degrees. */
interface Point {
  readonly lon: number;
  readonly lat: number;
}

/** The maximum length of a text that is read as a point: it may have other members, which are ignored. */
const textLengthMax = 1_000;

const NOWHERE: Point = { lon: 0, lat: 0 };

/** Stored for a value that is no point, so that `check` refuses it: no JSON text is empty. */
const INVALID = '';

/** A place on earth, as the JSON text `{"lon":…,"lat":…}`, always in this form: equal places are equal texts. */
export const geoPointField: FieldType<GeoPointOptions> = {
  type: 'geoPoint',
  decodeOptions: (raw, problems) => ({ required: optionReader(raw, problems).flag('required') }),
  column: () => 'json',
  schema: ({ required }) => {
    const point = pointSchema({ lon: { minimum: -180, maximum: 180 }, lat: { minimum: -90, maximum: 90 } });
    return {
      input: required ? { ...point, not: { const: NOWHERE } } : point,
      output: pointSchema({ lon: {}, lat: {} }),
      example: { lon: 13.4, lat: 52.5 },
    };
  },
  zero: () => toStored(NOWHERE),
  normalise: (value) => {
    const point = toPoint(typeof value === 'string' ? fromText(value) : value);
    return point === undefined ? INVALID : toStored(point);
  },
  check,
  toJson: (stored) => (typeof stored === 'string' && stored !== INVALID ? stored : toStored(NOWHERE)),
};

function pointSchema({ lon, lat }: Readonly<Record<keyof Point, JsonSchema>>): JsonSchema {
  const properties = { lon: { type: 'number', ...lon }, lat: { type: 'number', ...lat } };
  return { type: 'object', required: ['lon', 'lat'], properties };
}

function toStored({ lon, lat }: Point): string {
  return JSON.stringify({ lon, lat });
}

/** Returns the value of a JSON text; undefined if it is not JSON or too long, and null if it is empty. */
function fromText(text: string): unknown {
  if (text === '') return null;
  if (text.length > textLengthMax) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toPoint(value: unknown): Point | undefined {
  if (value === null) return NOWHERE;
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  const { lon = 0, lat = 0 }: Readonly<{ lon?: unknown; lat?: unknown }> = value;
  // A number that overflows has no JSON text. Adding zero turns the -0 of JSON into 0.
  if (typeof lon !== 'number' || typeof lat !== 'number') return undefined;
  return Number.isFinite(lon) && Number.isFinite(lat) ? { lon: lon + 0, lat: lat + 0 } : undefined;
}

function check(stored: StoredValue, options: GeoPointOptions): FieldError | undefined {
  const point = typeof stored === 'string' && stored !== INVALID ? toPoint(fromText(stored)) : undefined;
  if (point === undefined) return fieldError('validation_unsupported_value_type');
  const { lon, lat } = point;
  if (lon === 0 && lat === 0) return options.required ? fieldError('validation_required') : undefined;
  if (lat < -90 || lat > 90) return fieldError('validation_invalid_latitude');
  if (lon < -180 || lon > 180) return fieldError('validation_invalid_longitude');
  return undefined;
}
