import { unreachable } from '../base/assert.ts';
import type { Constant } from './operand.ts';

type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Two constants beside each other keep their kinds: a number never equals a text and stands before it, null is empty. */
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
    // By bytes, as both engines do: UTF-16 has another order above U+FFFF.
    return typeof right === 'string' ? Buffer.compare(Buffer.from(left), Buffer.from(right)) : 1;
  }
  if (typeof right === 'string') return -1;
  return Number(left) - Number(right);
}
