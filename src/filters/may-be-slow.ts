import { isOperand, type Term } from './operand.ts';

/**
 * Whether LIKE may have to compare the pattern at each character of a large text. It does not for a pattern without a `%` before its
 * end, for which an engine may also use an index.
 */
export function mayBeSlow(subject: Term, pattern: string): boolean {
  const isLarge = isOperand(subject) ? subject.kind === 'text' || subject.kind === 'json' : true;
  return isLarge && pattern.slice(0, -1).includes('%');
}
