import {
  type OperationalEventKind,
  operationalEventKinds,
  type RecordEventKind,
  recordEventKinds,
} from '../../events/event.ts';
import { invalidValue } from '../../fields/field-error.ts';
import type { Decoded } from '../../fields/field-type.ts';

/** The options of an endpoint that are lists, of what is the same for every instance. */

/** What an endpoint may ask for. */
export type EndpointEventKind = RecordEventKind | OperationalEventKind;
export const endpointEventKinds: readonly EndpointEventKind[] = [
  ...recordEventKinds,
  ...operationalEventKinds,
];

export const fieldsMax = 200;
const fieldName = /^\w{1,255}$/;
export const scheduleLengthMax = 50;
export const scheduleSecondsMax = 7 * 86_400;

export function decodeEvents(value: unknown): Decoded<readonly EndpointEventKind[]> {
  const wanted: readonly unknown[] = Array.isArray(value) ? value : [];
  const events = endpointEventKinds.filter((kind) => wanted.includes(kind));
  if (events.length > 0 && wanted.every((item) => events.some((kind) => kind === item)))
    return { value: events };
  return { error: invalidValue(`Must be one or more of ${endpointEventKinds.join(', ')}.`) };
}

export function decodeFields(value: unknown): Decoded<readonly string[]> {
  const names: readonly unknown[] = Array.isArray(value) ? value : [''];
  const texts = names.filter((name) => typeof name === 'string' && fieldName.test(name)).map(String);
  if (texts.length === names.length && texts.length <= fieldsMax) return { value: [...new Set(texts)] };
  return { error: invalidValue(`Must be an array of at most ${fieldsMax} names of fields.`) };
}

export function decodeSchedule(value: unknown): Decoded<readonly number[] | null> {
  if (value === null) return { value };
  const isSchedule =
    Array.isArray(value) &&
    value.length <= scheduleLengthMax &&
    value.every(
      (item) => typeof item === 'number' && Number.isInteger(item) && item >= 1 && item <= scheduleSecondsMax,
    );
  if (isSchedule) return { value };
  return {
    error: invalidValue(
      `Must be null or up to ${scheduleLengthMax} integers of seconds between 1 and ${scheduleSecondsMax}.`,
    ),
  };
}
