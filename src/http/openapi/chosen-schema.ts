import type { Schema } from './document.ts';

export interface ChosenOptions {
  readonly item: Schema;
  /** 0 or 1: the value is one text; more: a list. */
  readonly maxSelect: number;
  readonly minSelect?: number;
  readonly required: boolean;
  readonly description?: string;
}

/** Schemas of select, relation and file fields: one text or several different ones, none of them empty. */
export function chosenSchema(options: ChosenOptions): { readonly given: Schema; readonly answered: Schema } {
  const { item, maxSelect, required, description } = options;
  const noted = description === undefined ? {} : { description };
  if (maxSelect <= 1) {
    const one = required ? item : { anyOf: [item, { const: '' }] };
    return { given: { ...one, ...noted }, answered: { type: 'string', ...noted } };
  }
  const several = { type: 'array', items: item, uniqueItems: true, maxItems: maxSelect };
  return {
    given: { ...withMinimum(several, options), ...noted },
    answered: { type: 'array', items: { type: 'string' }, uniqueItems: true, ...noted },
  };
}

/** Adds the minimum. Unless `required`, an empty list is valid whatever the minimum. */
function withMinimum(several: Schema, { required, minSelect = 0 }: ChosenOptions): Schema {
  if (required) return { ...several, minItems: Math.max(1, minSelect) };
  if (minSelect <= 1) return several;
  return {
    anyOf: [
      { ...several, minItems: minSelect },
      { type: 'array', maxItems: 0 },
    ],
  };
}
