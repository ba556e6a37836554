import type { FieldError, FieldErrors } from '../base/errors.ts';
import { chosenSchema, chosenTexts } from './chosen-texts.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, SentFiles, StoredValue } from './field-type.ts';
import { type NewFile, withFileNames } from './new-file.ts';
import { optionReader } from './option-reader.ts';
import { anyText } from './value-schema.ts';

export type FileOptions = Readonly<{
  /** Bytes of each file; 0 means 5 MiB. */
  maxSize: number;
  /** 0 and 1: one name, stored as text. More: a list, stored as JSON text. */
  maxSelect: number;
  /** Empty for every kind. */
  mimeTypes: readonly string[];
  /** Sizes such as `100x50`, optionally followed by `t`, `b` or `f`. */
  thumbs: readonly string[];
  protected: boolean;
  required: boolean;
}>;

const sizeMaxDefault = 5 * 1024 * 1024;

/** Returns how large a file of this field may be, in bytes. */
export function fileBytesMax({ maxSize }: Pick<FileOptions, 'maxSize'>): number {
  return maxSize === 0 ? sizeMaxDefault : maxSize;
}

/** The names of a record's files. A new name needs its file: one that is sent without must already be in the record. */
export const fileField: FieldType<FileOptions> = {
  ...chosenTexts,
  type: 'file',
  decodeOptions,
  normalise: (value, options) => chosenTexts.normalise(withFileNames(value), options),
  modify: (stored, { modifier, value }, options) =>
    chosenTexts.modify(stored, { modifier, value: withFileNames(value) }, options),
  check: (stored, options, before) => checkFiles(stored, options, { before, files: [] }),
  checkFiles,
  schema: (options) =>
    chosenSchema({
      ...options,
      item: anyText,
      example: 'photo_a1b2c3d4e5.png',
      description: 'Names of files that the record has; new ones come in a form.',
    }),
};

function decodeOptions(raw: RawOptions, problems: Problems): FileOptions {
  const read = optionReader(raw, problems);
  const options = {
    maxSize: read.count('maxSize'),
    maxSelect: read.count('maxSelect'),
    mimeTypes: read.texts('mimeTypes'),
    thumbs: read.texts('thumbs'),
    protected: read.flag('protected'),
    required: read.flag('required'),
  };
  const errors = thumbErrors(options.thumbs);
  if (Object.keys(errors).length > 0) problems.add('thumbs', errors);
  return options;
}

function thumbErrors(thumbs: readonly string[]): FieldErrors {
  const errors = thumbs.flatMap((thumb, index) => {
    const error = thumbError(thumb);
    return error === undefined ? [] : [[String(index), error] as const];
  });
  return Object.fromEntries(errors);
}

function thumbError(thumb: string): FieldError | undefined {
  if (!/^\d{1,5}x\d{1,5}[tbf]?$/.test(thumb)) return fieldError('validation_match_invalid');
  return /^0+x0+\D?$/.test(thumb) ? fieldError('validation_not_in_invalid') : undefined;
}

function checkFiles(
  stored: StoredValue,
  options: FileOptions,
  { before, files }: SentFiles,
): FieldError | undefined {
  const names = chosenTexts.read(stored, options);
  if (names === undefined) return chosenTexts.unreadable(stored, options, 'validation_too_many_files');
  if (names.length === 0) return options.required ? fieldError('validation_required') : undefined;
  const sent = files.filter(({ name }) => names.includes(name));
  const validNames = new Set(before === undefined ? [] : chosenTexts.read(before, options));
  for (const { name } of sent) validNames.add(name);
  const unknown = names.filter((name) => !validNames.has(name));
  if (unknown.length > 0) return fieldError('validation_invalid_file', { invalidFiles: unknown });
  const maxSelect = chosenTexts.countMax(options);
  if (names.length > maxSelect) return fieldError('validation_too_many_files', { maxSelect });
  return firstProblem(sent, options);
}

/** Returns the problem of the first of these files that has one by itself. */
export function firstProblem(files: readonly NewFile[], options: FileOptions): FieldError | undefined {
  const { mimeTypes } = options;
  const maxSize = fileBytesMax(options);
  for (const file of files) {
    const { originalName, size } = file;
    if (size > maxSize) return fieldError('validation_file_size_limit', { file: originalName, maxSize });
    if (mimeTypes.length > 0 && !mimeTypes.some((type) => file.isOfType(type)))
      return fieldError('validation_invalid_mime_type', { file: originalName, mimeTypes });
  }
  return undefined;
}
