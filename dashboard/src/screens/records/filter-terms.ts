import { isExpression } from '../../api/expressions.ts';

/** A condition of a filter: its text, where that stands, and what joins it to the one before. */
export interface FilterTerm {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly joint: '' | '&&' | '||';
}

/** Returns the conditions that an expression joins, in their order. What is in parentheses is one. A word to look for has none. */
export function splitTerms(filter: string): readonly FilterTerm[] {
  if (!isExpression(filter)) return [];
  const terms: FilterTerm[] = [];
  let [start, joint]: [number, FilterTerm['joint']] = [0, ''];
  let [depth, quote] = [0, ''];
  const end = (at: number): void => {
    const text = filter.slice(start, at);
    const lead = text.length - text.trimStart().length;
    if (text.trim() !== '')
      terms.push({ text: text.trim(), start: start + lead, end: start + text.trimEnd().length, joint });
  };
  for (let index = 0; index < filter.length; index += 1) {
    const character = filter[index] ?? '';
    if (quote !== '') {
      if (character === '\\') index += 1;
      else if (character === quote) quote = '';
      continue;
    }
    if (character === '"' || character === "'") quote = character;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (depth === 0 && (filter.startsWith('&&', index) || filter.startsWith('||', index))) {
      end(index);
      joint = character === '&' ? '&&' : '||';
      index += 1;
      start = index + 1;
    }
  }
  end(filter.length);
  return terms;
}

/** Returns the filter without one of its conditions. */
export function withoutTerm(filter: string, position: number): string {
  return splitTerms(filter)
    .filter((_, index) => index !== position)
    .map(({ text, joint }, index) => (index === 0 || joint === '' ? text : `${joint} ${text}`))
    .join(' ');
}

/** Returns the filter with one condition more. A word to look for gives way to it, and what `||` joins is put in parentheses first. */
export function addCondition(filter: string, condition: string): string {
  const terms = splitTerms(filter);
  if (terms.length === 0) return condition;
  if (terms.some(({ text }) => text === condition)) return filter;
  const before = terms.some(({ joint }) => joint === '||') ? `(${filter.trim()})` : filter.trim();
  return `${before} && ${condition}`;
}
