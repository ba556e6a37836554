import { unreachable } from '../base/assert.ts';
import type { Constant } from './operand.ts';

type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Compares two constants, which keep their kinds: a number is less than every text; for = and != null is the empty text. */
export function compareConstants(left: Constant, operator: Comparison, right: Constant): boolean {
  const isEquality = operator === '=' || operator === '!=';
  if (!isEquality && (left === null || right === null)) return false;
  const order = compare(left ?? '', right ?? '');
  switch (operator) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    default:
      return unreachable(operator);
  }
}

function compare(left: Exclude<Constant, null>, right: Exclude<Constant, null>): number {
  if (typeof left === 'string') {
    // By UTF-8 bytes, as both engines do: UTF-16 units order characters above U+FFFF differently.
    return typeof right === 'string' ? Buffer.compare(Buffer.from(left), Buffer.from(right)) : 1;
  }
  if (typeof right === 'string') return -1;
  return Number(left) - Number(right);
}
