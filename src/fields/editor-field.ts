import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, StoredValue } from './field-type.ts';
import { optionReader, storedAsText } from './option-reader.ts';
import { anyText, filledText } from './value-schema.ts';

type EditorOptions = Readonly<{
  /** Bytes; 0 means 5 MiB. */
  maxSize: number;
  /** For editors, which then leave URLs of files as they are; the service does not use it. */
  convertURLs: boolean;
  required: boolean;
}>;

const sizeMaxDefault = 5 * 1024 * 1024;

/** HTML, kept byte for byte: whatever shows it has to sanitise it. */
export const editorField: FieldType<EditorOptions> = {
  ...storedAsText,
  type: 'editor',
  decodeOptions: (raw, problems) => {
    const read = optionReader(raw, problems);
    return {
      maxSize: read.count('maxSize'),
      convertURLs: read.flag('convertURLs'),
      required: read.flag('required'),
    };
  },
  schema: ({ maxSize, required }) => ({
    input: { ...filledText(required), description: `HTML, at most ${maxSize || '5 Mi'} bytes.` },
    output: { ...anyText, description: 'HTML, as it was sent: sanitize it before you display it.' },
    example: '<p>Hello</p>',
  }),
  check,
};

function check(stored: StoredValue, options: EditorOptions): FieldError | undefined {
  if (typeof stored !== 'string') return fieldError('validation_unsupported_value_type');
  if (stored === '') return options.required ? fieldError('validation_required') : undefined;
  const maxSize = options.maxSize === 0 ? sizeMaxDefault : options.maxSize;
  return Buffer.byteLength(stored) > maxSize
    ? fieldError('validation_content_size_limit', { maxSize })
    : undefined;
}
