import { client } from './client.ts';

/** What has an operator is an expression of docs/filters.md; anything else is a text to look for. */
export function isExpression(text: string): boolean {
  return /[=<>~]|&&|\|\|/.test(text);
}

/** Returns what was typed as a condition: an expression as it is, a word as `template`, in which it is `{:word}`. None for nothing. */
export function typedCondition(typed: string, template: string): readonly string[] {
  const word = typed.trim();
  if (word === '') return [];
  return [isExpression(word) ? word : client.filter(template, { word })];
}

/** How far the first condition of `allOf` is from the beginning: positions of errors count from there. */
export const firstOffset = 1;

export function allOf(conditions: readonly string[]): string {
  return conditions.map((condition) => `(${condition})`).join(' && ');
}
