import type { FieldErrors } from '../base/errors.ts';
import { fieldError, invalidValue } from './field-error.ts';
import type { FieldType, Problems, RawOptions } from './field-type.ts';

/** Reads members of a definition. Absent and null mean the default; a wrong type is reported as a problem and means the default, too. */
export interface OptionReader {
  readonly flag: (name: string) => boolean;
  readonly text: (name: string) => string;
  /** A whole number from 0 (the default) to 2^53 - 1. */
  readonly count: (name: string) => number;
  /** A finite number, or null. */
  readonly bound: (name: string) => number | null;
  readonly texts: (name: string) => readonly string[];
}

/** The maximum of texts in an option: each value of a record may be compared with all of them. */
const textsMax = 10_000;

export function optionReader(raw: RawOptions, problems: Problems): OptionReader {
  const member = (name: string): unknown => (Object.hasOwn(raw, name) ? (raw[name] ?? undefined) : undefined);
  const refuse = (name: string, expected: string) => problems.add(name, invalidValue(`Must be ${expected}.`));

  return {
    flag: (name) => {
      const value = member(name);
      if (value !== undefined && typeof value !== 'boolean') refuse(name, 'true or false');
      return value === true;
    },
    text: (name) => {
      const value = member(name) ?? '';
      if (typeof value === 'string') return value;
      refuse(name, 'a text');
      return '';
    },
    count: (name) => {
      const value = member(name) ?? 0;
      if (typeof value !== 'number' || !Number.isInteger(value)) refuse(name, 'a whole number');
      else if (value < 0)
        problems.add(name, fieldError('validation_min_greater_equal_than_required', { threshold: 0 }));
      else if (value > Number.MAX_SAFE_INTEGER) problems.add(name, tooLarge(Number.MAX_SAFE_INTEGER));
      // Adding zero turns the -0 of JSON into 0.
      else return value + 0;
      return 0;
    },
    bound: (name) => {
      const value = member(name) ?? null;
      if (value === null) return null;
      if (typeof value === 'number' && Number.isFinite(value)) return value + 0;
      refuse(name, 'a number');
      return null;
    },
    texts: (name) => {
      const value = member(name) ?? [];
      if (Array.isArray(value) && value.length > textsMax) {
        refuse(name, `a list of at most ${textsMax} texts`);
        return [];
      }
      if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
      refuse(name, 'a list of texts');
      return [];
    },
  };
}

function tooLarge(threshold: number) {
  return fieldError('validation_max_less_equal_than_required', { threshold });
}

/** Returns a text for what a client sent: a text as it is, numbers without an exponent, booleans, and an empty text for everything else. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return decimalText(value);
  return typeof value === 'boolean' ? String(value) : '';
}

/** Returns the digits of a number as the reference writes them: `1000000000000000000000` for 1e21, `0.0000001` for 1e-7. */
function decimalText(value: number): string {
  const text = String(value);
  const [, sign = '', whole = '', fraction = '', direction, power] =
    /^(-?)(\d)(?:\.(\d+))?e([+-])(\d+)$/.exec(text) ?? [];
  if (direction === undefined) return text;
  const digits = whole + fraction;
  if (direction === '-') return `${sign}0.${'0'.repeat(Number(power) - 1)}${digits}`;
  return sign + digits.padEnd(Number(power) + 1, '0');
}

/** As {@link toText}, but null for a list or an object, which `check` refuses. */
export function readText(value: unknown): string | null {
  return typeof value === 'object' && value !== null ? null : toText(value);
}

/** What types have in common that store the text that was sent. */
export const storedAsText: Pick<FieldType, 'column' | 'zero' | 'normalise' | 'toJson'> = {
  column: () => 'text',
  zero: () => '',
  normalise: readText,
  toJson: (stored) => JSON.stringify(toText(stored)),
};

/** Which hosts an email or url may name. At most one of the lists is in use; both empty means every host. */
export type DomainOptions = Readonly<{
  exceptDomains: readonly string[];
  onlyDomains: readonly string[];
  required: boolean;
}>;

// Applied to one label at a time, of which at most 63 characters match: backtracking is bounded.
const LABEL = /^[_a-z0-9](?:[_a-z0-9-]{0,61}[a-z0-9])?$/i;

export function decodeDomainOptions(raw: RawOptions, problems: Problems): DomainOptions {
  const read = optionReader(raw, problems);
  const options = {
    exceptDomains: read.texts('exceptDomains'),
    onlyDomains: read.texts('onlyDomains'),
    required: read.flag('required'),
  };
  const hasBoth = options.exceptDomains.length > 0 && options.onlyDomains.length > 0;
  for (const name of ['exceptDomains', 'onlyDomains'] as const) {
    if (hasBoth) problems.add(name, fieldError('validation_empty'));
    const errors = refusedDomains(options[name]);
    if (Object.keys(errors).length > 0) problems.add(name, errors);
  }
  return options;
}

/** Says in words which hosts are allowed; empty when all are. */
export function domainNotes({ onlyDomains, exceptDomains }: DomainOptions): string {
  if (onlyDomains.length > 0) return `Only at ${onlyDomains.join(', ')}.`;
  return exceptDomains.length > 0 ? `Not at ${exceptDomains.join(', ')}.` : '';
}

/** Whether the options allow a host. Letter case and a final dot do not matter: `EVIL.example.` is `evil.example`. */
export function isDomainAllowed(host: string, options: DomainOptions): boolean {
  const canonical = toCanonical(host);
  const isListed = (domain: string) => toCanonical(domain) === canonical;
  if (options.onlyDomains.length > 0 && !options.onlyDomains.some(isListed)) return false;
  return !options.exceptDomains.some(isListed);
}

function toCanonical(domain: string): string {
  return domain.toLowerCase().replace(/\.$/, '');
}

function refusedDomains(domains: readonly string[]): FieldErrors {
  const refused = domains.flatMap((domain, index) => (isDomain(domain) ? [] : [String(index)]));
  return Object.fromEntries(refused.map((index) => [index, fieldError('validation_is_domain')]));
}

function isDomain(text: string): boolean {
  if (text.length > 255) return false;
  const labels = text.replace(/\.$/, '').split('.');
  const last = labels.at(-1) ?? '';
  return (
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label)) &&
    /^[a-z0-9-]*[a-z][a-z0-9-]*$/i.test(last)
  );
}
