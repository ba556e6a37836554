import {
  type OperationalEventKind,
  operationalEventKinds,
  type RecordEventKind,
  recordEventKinds,
} from '../events/event.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import { anyText } from '../fields/value-schema.ts';

/** The kinds of events that an endpoint may subscribe to. */
export type EndpointEventKind = RecordEventKind | OperationalEventKind;
const endpointEventKinds: readonly EndpointEventKind[] = [...recordEventKinds, ...operationalEventKinds];

const fieldsMax = 200;
const fieldName = /^\w{1,255}$/;
const scheduleLengthMax = 50;
const scheduleSecondsMax = 7 * 86_400;

/** The options of an endpoint that are lists and do not depend on the instance. */
export const listOptions = {
  events: {
    initial: recordEventKinds,
    decode: decodeEvents,
    form: 'json' as const,
    schema: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', enum: endpointEventKinds },
      description:
        'Those of endpoints, deliveries and attempts are about other endpoints, and need no collections.',
    },
  },
  schedule: {
    initial: null,
    decode: decodeSchedule,
    form: 'json' as const,
    schema: {
      type: ['array', 'null'],
      maxItems: scheduleLengthMax,
      items: { type: 'integer', minimum: 1, maximum: scheduleSecondsMax },
      description: 'Seconds between attempts; null for the standard schedule, 15 attempts in about 76 hours.',
    },
  },
  fields: {
    initial: [],
    decode: decodeFields,
    form: 'json' as const,
    schema: {
      type: 'array',
      items: anyText,
      maxItems: fieldsMax,
      description:
        'The fields that `data` has beside the id; empty means all. A name that a record lacks is left out.',
    },
  },
};

function decodeEvents(value: unknown): DecodedValue<readonly EndpointEventKind[]> {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const events = endpointEventKinds.filter((kind) => items.includes(kind));
  if (events.length > 0 && items.every((item) => events.some((kind) => kind === item)))
    return { value: events };
  return { error: invalidValue(`Must be one or more of ${endpointEventKinds.join(', ')}.`) };
}

function decodeFields(value: unknown): DecodedValue<readonly string[]> {
  const names: readonly unknown[] = Array.isArray(value) ? value : [''];
  const texts = names.filter((name) => typeof name === 'string' && fieldName.test(name)).map(String);
  if (texts.length === names.length && texts.length <= fieldsMax) return { value: [...new Set(texts)] };
  return { error: invalidValue(`Must be an array of at most ${fieldsMax} names of fields.`) };
}

function decodeSchedule(value: unknown): DecodedValue<readonly number[] | null> {
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
