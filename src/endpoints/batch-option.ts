import { isJsonObject } from '../base/json.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import type { JsonSchema } from '../fields/value-schema.ts';

/** How an endpoint receives several events in one request. */
export interface BatchOption {
  /** Events in one request. */
  readonly max: number;
  /** How long the first of them waits for others. */
  readonly waitMs: number;
}

const batchLimits = { max: 100, waitMs: 60_000 } as const;

const problem = invalidValue(
  `Must be null, or an object with max (1 to ${batchLimits.max}) and waitMs (0 to ${batchLimits.waitMs}).`,
);

export const batchOption: {
  readonly initial: BatchOption | null;
  readonly decode: (value: unknown) => DecodedValue<BatchOption | null>;
  readonly form: 'json';
  readonly schema: JsonSchema;
} = {
  initial: null,
  decode: (value) => {
    if (value === null) return { value };
    if (!isJsonObject(value)) return { error: problem };
    const { max, waitMs, ...others } = value;
    const isBatch =
      isIntegerIn(max, 1, batchLimits.max) &&
      isIntegerIn(waitMs, 0, batchLimits.waitMs) &&
      Object.keys(others).length === 0;
    return isBatch ? { value: { max, waitMs } } : { error: problem };
  },
  form: 'json',
  schema: {
    type: ['object', 'null'],
    required: ['max', 'waitMs'],
    additionalProperties: false,
    properties: {
      max: {
        type: 'integer',
        minimum: 1,
        maximum: batchLimits.max,
        description: 'The most events in a request.',
      },
      waitMs: {
        type: 'integer',
        minimum: 0,
        maximum: batchLimits.waitMs,
        description: 'How long the oldest event waits for others, in milliseconds.',
      },
    },
    description:
      'Several events in one request: its body is an array of what single requests have as their bodies. It is sent when it has `max` events, or the oldest has waited for `waitMs`, and never exceeds the largest body of an event (256 KiB by default). null for one event in each request.',
  },
};

function isIntegerIn(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}
