import { keepInTab, readKept } from '../../browser/tab-memory.ts';
import { codecOf, type Parsed } from './codec.ts';
import type { Field, OptionalField, Values } from './field.ts';

/** What controls hold that were used, by the paths of their fields. */
export type Inputs = ReadonlyMap<string, unknown>;

/** What is edited: the fields, what they began with, and what was typed. */
export interface Draft {
  readonly fields: readonly Field[];
  readonly values: Values;
  readonly inputs: Inputs;
}

/** Returns what the control of a field holds. */
export function inputOf({ inputs, ...draft }: Draft, field: Field): unknown {
  if (inputs.has(field.path)) return inputs.get(field.path);
  const value = savedValue(draft, field);
  if (field.kind === 'optional') return (value ?? null) !== null;
  return codecOf(field)?.format(value) ?? value;
}

/** Returns the value that a field began with. */
export function savedValue({ fields, values }: Pick<Draft, 'fields' | 'values'>, { path }: Field): unknown {
  const value = read(values, path);
  const parent = fields.find(
    (field) => field.kind === 'optional' && field.fields.some((one) => one.path === path),
  );
  if (value !== undefined || parent?.kind !== 'optional') return value;
  return read(parent.blank, path.slice(parent.path.length + 1));
}

/** Returns what is saved of a field, or what is wrong with what was typed. */
export function parseInput(draft: Draft, field: Field): Parsed {
  if (field.kind === 'optional') return parseOptional(draft, field);
  if (!draft.inputs.has(field.path)) return { value: savedValue(draft, field) };
  const input = draft.inputs.get(field.path);
  return (typeof input === 'string' ? codecOf(field)?.parse(input) : undefined) ?? { value: input };
}

function parseOptional(draft: Draft, field: OptionalField): Parsed {
  if (inputOf(draft, field) !== true) return { value: null };
  const members = field.fields.map(
    (one) => [one.path.slice(field.path.length + 1), parseInput(draft, one)] as const,
  );
  if (members.some(([, parsed]) => 'problem' in parsed)) return { problem: '' };
  return {
    value: Object.fromEntries(
      members.map(([name, parsed]) => [name, 'value' in parsed ? parsed.value : undefined]),
    ),
  };
}

/** Whether a field would be saved with another value than it began with. */
export function isChanged(draft: Draft, field: Field): boolean {
  if (field.kind === 'optional') {
    const was = (read(draft.values, field.path) ?? null) !== null;
    const isOn = inputOf(draft, field) === true;
    return isOn !== was || (isOn && field.fields.some((one) => isChanged(draft, one)));
  }
  if (!draft.inputs.has(field.path)) return false;
  const parsed = parseInput(draft, field);
  return 'problem' in parsed || JSON.stringify(parsed.value) !== JSON.stringify(savedValue(draft, field));
}

/** Returns the values with another one at a path. */
export function withValue(values: Values, path: string, value: unknown): Values {
  const [name = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...values, [name]: value };
  const inner = values[name];
  // What an object has under a name is unknown to the compiler.
  const members = typeof inner === 'object' && inner !== null ? (inner as Values) : {};
  return { ...values, [name]: withValue(members, rest.join('.'), value) };
}

/** Returns these members as the API has them: `a.b` is a member of `a`. */
export function toTree(members: Iterable<readonly [path: string, value: unknown]>): Values {
  const tree: Tree = {};
  for (const [path, value] of members) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let place = tree;
    // Only this loop makes members that have members.
    for (const name of names) place = (place[name] ??= {}) as Tree;
    place[last] = value;
  }
  return tree;
}

interface Tree {
  [name: string]: unknown;
}

function read(values: unknown, path: string): unknown {
  let value = values;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    // What an object has under a name is unknown to the compiler.
    value = (value as Values)[name];
  }
  return value;
}

/** Returns what the tab has kept of a draft. */
export function readInputs(name: string): Inputs {
  const kept = readKept(name);
  return typeof kept === 'object' && kept !== null ? new Map(Object.entries(kept)) : new Map();
}

/** Keeps a draft over reloads, but for what was typed at the paths of secrets, which have blanks between them. */
export function keepInputs(name: string, secrets: string, inputs: Inputs): void {
  const hidden = new Set(secrets.split(' '));
  const kept = [...inputs].filter(([path]) => !hidden.has(path));
  keepInTab(name, kept.length === 0 ? undefined : Object.fromEntries(kept));
}
