import { distinctNames, foldName } from '../base/distinct-names.ts';

/** A JSON schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schemas of a field's values, each absent where the field has no such value. */
export interface ValueSchema {
  /** In a request: what the field's options accept, in the type's own form. Other forms are converted to it. */
  readonly input?: JsonSchema;
  /** In an answer: what always holds, whatever the options were when the value was stored. */
  readonly output?: JsonSchema;
  /** Such a value, for examples; left out where any of the schema's type is as good. */
  readonly example?: unknown;
}

export const anyText: JsonSchema = { type: 'string' };

/** Any text; not the empty one where a value is required. */
export function filledText(required: boolean): JsonSchema {
  return required ? { type: 'string', minLength: 1 } : anyText;
}

/** A text of a format of JSON Schema, or the empty one where no value is required. */
export function formattedText(format: string, required: boolean, description: string): JsonSchema {
  const schema = required ? { type: 'string', format, minLength: 1 } : orEmpty(anyText, '', { format });
  return description === '' ? schema : { ...schema, description };
}

/**
 * What `always` describes, and `options` unless the value is empty. A condition rather than a union of two schemas of one type, of which
 * generators of clients make a class.
 */
export function orEmpty(always: JsonSchema, empty: string | number, options: JsonSchema): JsonSchema {
  return { ...always, if: { const: empty }, else: options };
}

/**
 * One of these texts. Where letters and digits do not tell them apart, or a text has none, each gets a name as well (`x-enum-varnames`), for
 * generators of clients that make constants of them.
 */
export function choice(values: readonly string[]): JsonSchema {
  const schema = { type: 'string', enum: values };
  const filled = values.filter((value) => value !== '');
  const isPlain = filled.every((value) => /^[A-Za-z][A-Za-z0-9_]*$/.test(value));
  const isApart = new Set(filled.map(foldName)).size === filled.length;
  return isPlain && isApart ? schema : { ...schema, 'x-enum-varnames': constantNames(values) };
}

function constantNames(values: readonly string[]): readonly string[] {
  const makeName = distinctNames();
  return values.map((value) => {
    const words = value.normalize('NFKD').match(/[A-Za-z0-9]+/g) ?? [value === '' ? 'empty' : 'value'];
    return makeName(words.join('_').replace(/^(?=\d)/, 'value_'));
  });
}
