import type { DomainRules } from '../../fields/domain-rules.ts';

/** Says in words which hosts are allowed; empty when all are. */
export function domainNotes({ onlyDomains, exceptDomains }: DomainRules): string {
  if (onlyDomains.length > 0) return `Only at ${onlyDomains.join(', ')}.`;
  return exceptDomains.length > 0 ? `Not at ${exceptDomains.join(', ')}.` : '';
}
