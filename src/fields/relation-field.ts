import type { FieldError } from '../base/errors.ts';
import { chosenSchema, chosenTexts } from './chosen-texts.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';

export type RelationOptions = Readonly<{
  /** The id of the collection that is referred to. Whether it exists is checked with the collection's definition. */
  collectionId: string;
  /** Whether a record is deleted with the last record that it refers to. */
  cascadeDelete: boolean;
  /** The minimum of a value that is not empty; an empty one is rejected by `required` only. */
  minSelect: number;
  /** 0 and 1: one id, stored as text. More: a list, stored as JSON text. */
  maxSelect: number;
  required: boolean;
}>;

/** http-api.md A20: no record has a longer id. */
const idBytesMax = 255;

const anyId = { type: 'string', maxLength: idBytesMax };

/** Ids of records. Whether these exist is checked in the transaction of the write, of which types know nothing. */
export const relationField: FieldType<RelationOptions> = {
  ...chosenTexts,
  type: 'relation',
  decodeOptions,
  check,
  isShort: true,
  schema: ({ collectionId, ...options }, nameOf) =>
    chosenSchema({
      ...options,
      item: { ...anyId, minLength: 1 },
      itemOrEmpty: anyId,
      example: 'r4nd0m1d0000001',
      description: `Ids of records of \`${nameOf(collectionId)}\`.`,
    }),
};

function decodeOptions(raw: RawOptions, problems: Problems): RelationOptions {
  const read = optionReader(raw, problems);
  const options = {
    collectionId: read.text('collectionId'),
    cascadeDelete: read.flag('cascadeDelete'),
    minSelect: read.count('minSelect'),
    maxSelect: read.count('maxSelect'),
    required: read.flag('required'),
  };
  const { minSelect, maxSelect } = options;
  if (options.collectionId === '') problems.add('collectionId', fieldError('validation_required'));
  if (minSelect > 0 && maxSelect === 0) problems.add('maxSelect', fieldError('validation_required'));
  else if (maxSelect < minSelect)
    problems.add(
      'maxSelect',
      fieldError('validation_min_greater_equal_than_required', { threshold: minSelect }),
    );
  return options;
}

function check(stored: StoredValue, options: RelationOptions): FieldError | undefined {
  const ids = chosenTexts.read(stored, options);
  if (ids === undefined) return chosenTexts.unreadable(stored, options, 'validation_too_many_values');
  if (ids.length === 0) return options.required ? fieldError('validation_required') : undefined;
  const { minSelect } = options;
  const maxSelect = chosenTexts.countMax(options);
  if (ids.length < minSelect) return fieldError('validation_not_enough_values', { minSelect });
  if (ids.length > maxSelect) return fieldError('validation_too_many_values', { maxSelect });
  return ids.every(canBeId) ? undefined : fieldError('validation_missing_rel_records');
}

/** Whether a text can be an id. A list may come as JSON text, whose escapes can make characters that a database cannot store. */
function canBeId(id: string): boolean {
  return id.length <= idBytesMax && Buffer.byteLength(id) <= idBytesMax && isStorable(id);
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
