import assert from 'node:assert/strict';
import { decodeField } from '../../src/fields/field.ts';
import type { Modifier, RawOptions, StoredValue } from '../../src/fields/field-type.ts';
import { fieldType } from '../../src/fields/field-types.ts';

/** Returns a field with the given options, which must be valid. */
export function makeField(raw: RawOptions) {
  const field = decodeField(
    { name: 'value', ...raw },
    { add: (name, error) => assert.fail(`${name} ${JSON.stringify(error)}`) },
  );
  assert.ok(field);
  const type = fieldType(field);
  const { options } = field;
  return {
    zero: type.zero(options),
    modify: (stored: StoredValue, modifier: Modifier, value: unknown) =>
      type.modify?.(stored, { modifier, value }, options),
    normalise: (value: unknown) => type.normalise(value, options),
    check: (stored: StoredValue, before?: StoredValue) => type.check(stored, options, before),
    toJson: (stored: StoredValue) => type.toJson(stored, options),
    code: (value: unknown) => type.check(type.normalise(value, options), options)?.code,
  };
}
