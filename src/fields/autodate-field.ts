import { dateField, exampleMoment, momentSchema } from './date-field.ts';
import type { FieldType, Problems, RawOptions } from './field-type.ts';
import { optionReader } from './option-reader.ts';

type AutodateOptions = Readonly<{ onCreate: boolean; onUpdate: boolean }>;

const noOptions = { min: '', max: '', required: false } as const;

/** A moment that only the server writes. */
export const autodateField: FieldType<AutodateOptions> = {
  type: 'autodate',
  decodeOptions,
  column: () => 'text',
  isPlain: true,
  isShort: true,
  schema: () => ({
    output: { ...momentSchema, readOnly: true, description: 'Set by the service only.' },
    example: exampleMoment,
  }),
  zero: () => '',
  // Only imports normalise values: those that clients send are ignored because there is a stamp.
  normalise: (value) => dateField.normalise(value, noOptions),
  check: (stored) => dateField.check(stored, noOptions),
  toJson: (stored) => dateField.toJson(stored, noOptions),
  stamp: (moment, timestamp, options) => {
    const isDue = moment === 'create' ? options.onCreate : options.onUpdate;
    return isDue ? timestamp : undefined;
  },
};

function decodeOptions(raw: RawOptions, problems: Problems): AutodateOptions {
  const read = optionReader(raw, problems);
  const options = { onCreate: read.flag('onCreate'), onUpdate: read.flag('onUpdate') };
  if (!options.onCreate && !options.onUpdate) {
    const error = { code: 'validation_required', message: 'Either onCreate or onUpdate must be enabled.' };
    problems.add('onCreate', error);
    problems.add('onUpdate', error);
  }
  return options;
}
