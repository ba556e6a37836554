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

/** RFC 5321 section 4.5.3.1.3: a path has 256 octets, its angle brackets included. */
const bytesMax = 254;

export const emailField: FieldType<DomainOptions> = {
  ...storedAsText,
  type: 'email',
  decodeOptions: decodeDomainOptions,
  isShort: true,
  schema: (options) => ({
    input: formattedText('idn-email', options.required, domainNotes(options)),
    output: anyText,
    example: 'ada@example.com',
  }),
  check,
};

function check(
  stored: StoredValue,
  options: DomainOptions,
  before: StoredValue | undefined,
): FieldError | undefined {
  if (typeof stored !== 'string') return fieldError('validation_unsupported_value_type');
  if (stored === '') return options.required ? fieldError('validation_required') : undefined;
  // No option changes what an address is, so one that the record already has was checked when it was sent.
  if (stored !== before && !isEmail(stored)) return fieldError('validation_is_email');
  const domain = stored.slice(stored.lastIndexOf('@') + 1);
  return isDomainAllowed(domain, options) ? undefined : fieldError('validation_email_domain_not_allowed');
}

/** Whether a text is an e-mail address that mail servers take. */
export function isEmail(text: string): boolean {
  // Checked first, so that the patterns below never see a long text.
  if (text.length > bytesMax || Buffer.byteLength(text) > bytesMax) return false;
  const at = text.lastIndexOf('@');
  if (at < 1) return false;
  if (PLAIN.test(text)) return true;
  const labels = text.slice(at + 1).split('.');
  patterns ??= makePatterns();
  const { localAtom, label, topLabelStart } = patterns;
  return (
    text
      .slice(0, at)
      .split('.')
      .every((atom) => localAtom.test(atom)) &&
    labels.length > 1 &&
    labels.every((each) => each.length <= 63 && label.test(each)) &&
    topLabelStart.test(labels.at(-1) ?? '')
  );
}

/**
 * Matches most addresses in one step: what the patterns below allow, in ASCII. Backtracking is bounded: atoms and labels are
 * separated by characters that they cannot match, and a label has at most 63.
 */
const PLAIN =
  /^[\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*@(?:[a-z0-9](?:[\w-]{0,61}[a-z0-9])?\.)+[a-z](?:[\w-]{0,61}[a-z0-9])?$/i;

/**
 * Returns the patterns of an address. The local part may only be a dot-atom: quoted strings, comments and address literals are
 * refused, because they are used to inject mail headers. Made for the first address that needs them: the engine then reads
 * Unicode's tables, too slow for every start.
 */
const makePatterns = () => ({
  localAtom: /^[\p{L}\p{M}\p{N}!#$%&'*+\-/=?^_`{|}~]+$/u,
  label: /^[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}_-]*[\p{L}\p{M}\p{N}])?$/u,
  topLabelStart: /^\p{L}/u,
});

let patterns: ReturnType<typeof makePatterns> | undefined;
