import type { FieldErrors } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { Problems, RawOptions } from './field-type.ts';
import { optionReader } from './option-reader.ts';

/** Which hosts an email or url may name. At most one of the lists is in use; both empty means every host. */
export type DomainRules = Readonly<{
  exceptDomains: readonly string[];
  onlyDomains: readonly string[];
}>;

// Applied to one label at a time, of which at most 63 characters match: backtracking is bounded.
const LABEL = /^[_a-z0-9](?:[_a-z0-9-]{0,61}[a-z0-9])?$/i;

export function decodeDomainRules(raw: RawOptions, problems: Problems): DomainRules {
  const read = optionReader(raw, problems);
  const rules = { exceptDomains: read.texts('exceptDomains'), onlyDomains: read.texts('onlyDomains') };
  const hasBoth = rules.exceptDomains.length > 0 && rules.onlyDomains.length > 0;
  for (const name of ['exceptDomains', 'onlyDomains'] as const) {
    if (hasBoth) problems.add(name, fieldError('validation_empty'));
    const errors = refusedDomains(rules[name]);
    if (Object.keys(errors).length > 0) problems.add(name, errors);
  }
  return rules;
}

/** Whether the rules allow a host. Letter case and a final dot do not matter: `EVIL.example.` is `evil.example`. */
export function isDomainAllowed(host: string, rules: DomainRules): boolean {
  const canonical = toCanonical(host);
  const isListed = (domain: string) => toCanonical(domain) === canonical;
  if (rules.onlyDomains.length > 0 && !rules.onlyDomains.some(isListed)) return false;
  return !rules.exceptDomains.some(isListed);
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
