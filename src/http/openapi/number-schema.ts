import type { NumberOptions } from '../../fields/number-field.ts';
import type { Schema } from './document.ts';

/** Returns what a number field accepts. Zero counts as empty: unless a value is required, it is valid whatever the bounds. */
export function numberSchema({ min, max, onlyInt, required }: NumberOptions): Schema {
  const bounded: Schema = {
    type: onlyInt ? 'integer' : 'number',
    ...(min === null ? {} : { minimum: min }),
    ...(max === null ? {} : { maximum: max }),
  };
  if (required) return { ...bounded, not: { const: 0 } };
  const isZeroWithin = (min ?? 0) <= 0 && (max ?? 0) >= 0;
  return isZeroWithin ? bounded : { anyOf: [bounded, { const: 0 }] };
}
