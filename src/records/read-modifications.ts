import type { FieldError } from '../base/errors.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import type { Change, Modifier } from '../fields/field-type.ts';

export interface ReadModificationsOptions {
  /** Returns the field of this name; undefined where there is none for the caller. */
  readonly find: (name: string) => Field | undefined;
  /** Called for each key whose modifier its field does not have. */
  readonly refuse: (key: string, problem: FieldError) => void;
}

/** Changes to the values of fields, by field name: `views+`, `+tags`, `name:autogenerate`. */
export type Modifications = ReadonlyMap<string, readonly Change[]>;

// No field's name holds one of these characters.
const MODIFIED = /^\+|[+-]$|:autogenerate$/;
const none: Modifications = new Map();

/**
 * Returns the modifications in a body by field, in the order in which they are applied: shortest key first, then as they were
 * sent. A modifier that the field's type does not have is refused: ignored, it would answer 200 to a change that was not made.
 * Keys that only look similar are ignored like other unknown members.
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
  // Modifiers with a sign are all of one length and sorting is stable: they stay in the order in which they were sent.
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
