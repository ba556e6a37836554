import type { Schema } from './document.ts';

export interface TextSchemaOptions {
  /** Code points, as JSON Schema counts them. */
  readonly min: number;
  readonly max: number;
  /** RE2 syntax; empty for none. */
  readonly pattern: string;
  readonly required: boolean;
}

/** What a text field accepts. An empty text is the affair of `required`, whatever the other options. */
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

/** RE2 has what JSON Schema has not: such a pattern is told in words, as a wrong one would refuse what is right. */
function patternMembers(pattern: string): Schema {
  if (pattern === '') return {};
  return isEcmaScript(pattern) ? { pattern } : { description: `Matches \`${pattern}\` (RE2).` };
}

function isEcmaScript(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\[^sSpP]/g, '');
  // White space, properties, the dot and flags compile in both, and mean other characters.
  if (/\\|\.|\(\?[-ims]/.test(bare)) return false;
  try {
    return new RegExp(pattern, 'u').source !== '';
  } catch {
    return false;
  }
}
