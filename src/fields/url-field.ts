import type { FieldError } from '../base/errors.ts';
import {
  decodeDomainOptions,
  domainNotes,
  type DomainOptions,
  isDomainAllowed,
  storedAsText,
} from './option-reader.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, StoredValue } from './field-type.ts';
import { anyText, formattedText } from './value-schema.ts';

/** A length that browsers have accepted since Internet Explorer; also the reference's limit. */
const lengthMax = 2083;

export const urlField: FieldType<DomainOptions> = {
  ...storedAsText,
  type: 'url',
  decodeOptions: decodeDomainOptions,
  schema: (options) => ({
    input: formattedText('iri', options.required, `http or https. ${domainNotes(options)}`),
    output: anyText,
    example: 'https://example.com',
  }),
  check,
};

function check(stored: StoredValue, options: DomainOptions): FieldError | undefined {
  if (typeof stored !== 'string') return fieldError('validation_unsupported_value_type');
  if (stored === '') return options.required ? fieldError('validation_required') : undefined;
  const host = hostOf(stored);
  if (host === undefined) return fieldError('validation_invalid_url');
  return isDomainAllowed(host, options) ? undefined : fieldError('validation_url_domain_not_allowed');
}

/** Returns the host of an absolute http or https URL without credentials; undefined for other texts. */
function hostOf(text: string): string | undefined {
  // The URL parser tolerates spaces, control characters and backslashes, and a program that follows the stored text may read them
  // differently: `http:\\good.example@evil.example`. So only texts that all parsers read alike are accepted.
  if (text.length > lengthMax || !/^https?:\/\/[^/?#]/i.test(text) || /[\s\p{Cc}\\<>"^`{|}]/u.test(text))
    return undefined;
  const url = URL.parse(text);
  return url === null || url.username !== '' || url.password !== '' ? undefined : url.hostname;
}
