import type { FieldError } from '../base/errors.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { Change, Modifier } from '../fields/field-type.ts';

export interface ReadModificationsOptions {
  /** The field of this name, or undefined where there is none for who asks. */
  readonly find: (name: string) => Field | undefined;
  /** Told of each key that cannot be followed. */
  readonly refuse: (key: string, problem: FieldError) => void;
}

/** What is to be done to the values of fields, by name: `views+`, `+tags`, `name:autogenerate`. */
export type Modifications = ReadonlyMap<string, readonly Change[]>;

// No field's name holds one of these characters.
const MODIFIED = /^\+|[+-]$|:autogenerate$/;
const none: Modifications = new Map();

/**
 * The modifications of a body by field, in the order in which they are applied: shortest key first, then as they were sent.
 * What a type does not know is refused: to ignore it would answer 200 to a change that was not made. Other keys that only
 * look alike are unknown, and nothing.
 */
export function readModifications(
  body: Readonly<Record<string, unknown>>,
  options: ReadModificationsOptions,
): Modifications {
  let found: Map<string, Change[]> | undefined;
  for (const key in body) {
    if (!MODIFIED.test(key) || !Object.hasOwn(body, key)) continue;
    const { name, modifier } = parseKey(key);
    const field = options.find(name);
    if (modifier === undefined || field === undefined) continue;
    if (fieldType(field).modifiers?.includes(modifier) !== true) {
      options.refuse(key, unknownModifier(field));
      continue;
    }
    found ??= new Map();
    const ofField = found.get(name) ?? [];
    ofField.push({ modifier, value: body[key] });
    found.set(name, ofField);
  }
  // The signs are all of one length; sorting is stable.
  for (const ofField of found?.values() ?? [])
    ofField.sort((one, other) => one.modifier.length - other.modifier.length);
  return found ?? none;
}

function parseKey(key: string): { readonly name: string; readonly modifier: Modifier | undefined } {
  const name = /^\+?(\w+)(?:[+-]|:autogenerate)?$/.exec(key)?.[1] ?? '';
  switch (key) {
    case `${name}+`:
      return { name, modifier: 'f+' };
    case `+${name}`:
      return { name, modifier: '+f' };
    case `${name}-`:
      return { name, modifier: 'f-' };
    case `${name}:autogenerate`:
      return { name, modifier: 'f:autogenerate' };
    default:
      return { name, modifier: undefined };
  }
}

function unknownModifier({ name, type }: Field): FieldError {
  const known = (fieldType({ type }).modifiers ?? []).map((modifier) => modifier.replace('f', name));
  const instead = known.length === 0 ? `send the whole value as ${name}` : `it has ${known.join(', ')}`;
  return invalidValue(`A field of type ${type} has no such modifier: ${instead}.`);
}
