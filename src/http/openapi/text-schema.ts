import type { Schema } from './document.ts';

export interface TextSchemaOptions {
  /** Code points, as JSON Schema counts them. */
  readonly min: number;
  readonly max: number;
  /** RE2 syntax; empty for none. */
  readonly pattern: string;
  readonly required: boolean;
}

/** Returns what a text field accepts. Only `required` decides about an empty text, whatever the other options say. */
export function textSchema({ min, max, pattern, required }: TextSchemaOptions): Schema {
  const filled: Schema = {
    type: 'string',
    minLength: Math.max(1, min),
    maxLength: max,
    ...patternMembers(pattern),
  };
  if (required) return filled;
  if (min <= 1 && pattern === '') return { type: 'string', maxLength: max };
  return { anyOf: [filled, { const: '' }] };
}

/** Describes in words a pattern whose RE2 syntax JSON Schema lacks or reads differently: as a `pattern` it would refuse valid values. */
function patternMembers(pattern: string): Schema {
  if (pattern === '') return {};
  return isEcmaScript(pattern) ? { pattern } : { description: `Matches \`${pattern}\` (RE2).` };
}

function isEcmaScript(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\[^sSpP]/g, '');
  // `\s`, `\p`, the dot, flags and `a{02}` compile in both syntaxes but match different texts.
  if (/\\|\.|\(\?[-ims]|[{,]0\d/.test(bare)) return false;
  try {
    return new RegExp(pattern, 'u').source !== '';
  } catch {
    return false;
  }
}
