import { useState } from 'react';
import { type Inputs, parseInput, savedValue, withValue } from './draft.ts';
import { type Field, fieldsOf, type Part, type Values } from './field.ts';
import { type Form, formOf } from './use-form.ts';

interface BoundSource<Bound extends Values> {
  readonly parts: readonly Part[];
  readonly values: Bound;
  /** In front of the ids of its controls. */
  readonly prefix?: string;
  /** What the service says of the values, by path. */
  readonly errors?: ReadonlyMap<string, string>;
  /** Gets the values as they are after each key. What is no value yet is among them as it was typed: the service refuses it. */
  readonly onChange: (values: Bound) => void;
}

/** Fields of values that somebody else keeps and saves, as those of a larger draft. */
export function useBoundForm<Bound extends Values>(source: BoundSource<Bound>): Form {
  const { parts, values, prefix = '', errors, onChange } = source;
  const [typed, setTyped] = useState<Inputs>(new Map());
  const fields = fieldsOf(parts);
  const meaningOf = (field: Field, inputs: Inputs): unknown => {
    const parsed = parseInput({ fields, values, inputs }, field);
    return 'problem' in parsed ? inputs.get(field.path) : parsed.value;
  };
  // A text stays as it was typed for as long as the value is what it means: others may set that, too.
  const isCurrent = (field: Field): boolean =>
    JSON.stringify(meaningOf(field, typed)) === JSON.stringify(savedValue({ fields, values }, field));
  const current = fields.filter((field) => typed.has(field.path) && isCurrent(field));
  const inputs = new Map(current.map(({ path }) => [path, typed.get(path)]));
  const write = (paths: readonly string[], after: Inputs): void => {
    let next: Values = values;
    for (const field of fields.filter(({ path }) => paths.includes(path)))
      next = withValue(next, field.path, after.has(field.path) ? meaningOf(field, after) : undefined);
    setTyped(after);
    // Each member is of the kind that its field has.
    onChange(next as Bound);
  };
  return formOf(
    { fields, values, inputs },
    {
      parts,
      prefix,
      isNew: true,
      isBusy: false,
      failure: undefined,
      refusals: 0,
      refused: errors ?? new Map(),
      set: (path, input) => {
        const members = { [path]: input, ...fields.find((one) => one.path === path)?.also?.(input) };
        write(Object.keys(members), new Map([...inputs, ...Object.entries(members)]));
      },
      undo: (path) => write([path], new Map([...inputs].filter(([one]) => one !== path))),
      submit: () => undefined,
      discard: () => undefined,
    },
  );
}
