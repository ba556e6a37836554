import { useEffect, useState } from 'react';
import { Failure } from '../../api/client.ts';
import {
  type Draft,
  type Inputs,
  inputOf,
  isChanged,
  keepInputs,
  parseInput,
  readInputs,
  savedValue,
  toTree,
} from './draft.ts';
import { type Field, fieldsOf, isSecret, type Part, type Values } from './field.ts';

export interface FormSource {
  /** The name under which the tab keeps what is not saved yet. */
  readonly name: string;
  readonly parts: readonly Part[];
  /** What it begins with. */
  readonly values: Values;
  /** In front of the ids of its controls. */
  readonly prefix?: string;
  /** Whether all members are saved, as of something new; otherwise only those that were changed, so that what others change stays theirs. */
  readonly isNew?: boolean;
  /** Resolves to `stays` where what was typed is used again, as that of a test. */
  readonly save: (body: Values) => Promise<unknown>;
}

/** Fields with what was typed, what is wrong with it, and the one call that saves it. */
export interface Form {
  readonly parts: readonly Part[];
  readonly isNew: boolean;
  readonly isBusy: boolean;
  /** The fields that would be saved with another value. */
  readonly changed: readonly Field[];
  /** What is wrong, by the path of the field beside which it stands. */
  readonly errors: ReadonlyMap<string, string>;
  /** The same as the service or the codec says it, by the paths that these name. */
  readonly messages: ReadonlyMap<string, string>;
  /** Why saving has failed, where that is about no field that is shown. */
  readonly failure: unknown;
  /** The paths of the fields whose errors keep it from being saved, or did. */
  readonly refused: ReadonlySet<string>;
  /** Counts the attempts that were refused: the focus then goes to the first error. */
  readonly refusals: number;
  readonly idOf: (field: Field) => string;
  readonly input: (field: Field) => unknown;
  /** The value of a field as it would be saved; undefined while it has a problem. */
  readonly value: (path: string) => unknown;
  /** The value that a field began with. */
  readonly saved: (field: Field) => unknown;
  readonly isShown: (field: Field) => boolean;
  readonly set: (path: string, input: unknown) => void;
  /** Takes back what was typed into a field. */
  readonly undo: (path: string) => void;
  /** What would be saved now. */
  readonly body: Values;
  readonly submit: () => void;
  readonly discard: () => void;
}

/** Keeps what is typed apart from the values it began with, and saves it. */
export function useForm(source: FormSource): Form {
  const { name, parts, values, prefix = '', isNew = false, save } = source;
  const fields = fieldsOf(parts);
  const [inputs, setInputs] = useInputs(name, fields);
  const { run, setRefused, refused, ...saving } = useSaving();
  const draft: Draft = { fields, values, inputs };
  const fieldOf = (path: string): Field | undefined => fields.find((field) => field.path === path);
  const form: Form = formOf(draft, {
    ...saving,
    parts,
    prefix,
    isNew,
    refused,
    set: (path, input) => {
      const members = { [path]: input, ...fieldOf(path)?.also?.(input) };
      setInputs((before) => new Map([...before, ...Object.entries(members)]));
      setRefused((before) => without(before, Object.keys(members)));
    },
    undo: (path) => {
      const field = fieldOf(path);
      const others = Object.keys(field?.also?.(field && savedValue(draft, field)) ?? {});
      setInputs((before) => without(before, [path, ...others]));
      setRefused((before) => without(before, [path, ...others]));
    },
    submit: () => {
      if (saving.isBusy || (!isNew && form.changed.length === 0)) return;
      run(typedProblems(draft, form).size > 0, async () => {
        if ((await save(form.body)) === 'stays') return;
        setInputs(new Map());
        // Nobody is there any more to forget it where the form is gone by now.
        keepInputs(name, '', new Map());
      });
    },
    discard: () => {
      setInputs(new Map());
      run(false);
    },
  });
  return form;
}

/** What is shown of a form, and what can be done with it. */
interface FormLook extends Pick<
  Form,
  'parts' | 'isNew' | 'isBusy' | 'failure' | 'refusals' | 'set' | 'undo' | 'submit' | 'discard'
> {
  readonly prefix: string;
  /** What the service says of what was sent, by path. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Makes the form of a draft: what its controls hold, what is wrong with it, and what would be saved. */
export function formOf(draft: Draft, { prefix, refused, ...look }: FormLook): Form {
  const { fields } = draft;
  const isFirst = ({ path }: Field, index: number): boolean =>
    fields.findIndex((one) => one.path === path) === index;
  const form: Form = {
    ...look,
    changed: fields.filter(isFirst).filter((field) => isChanged(draft, field)),
    errors: noErrors,
    messages: noErrors,
    refused: new Set(),
    body: {},
    idOf: ({ id, path }) => prefix + (id ?? path.replaceAll('.', '-')),
    input: (field) => inputOf(draft, field),
    value: (path) => {
      const field = fields.find((one) => one.path === path);
      const parsed = field && parseInput(draft, field);
      return parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
    },
    saved: (field) => savedValue(draft, field),
    isShown: (field) => field.when?.(form) !== false && isParentOn(draft, field),
  };
  const messages = new Map([...refused, ...typedProblems(draft, form)]);
  const placed = withErrors({ ...form, body: bodyOf(draft, form) }, messages);
  return { ...placed, refused: new Set(placed.errors.keys()) };
}

function useInputs(name: string, fields: readonly Field[]) {
  const [inputs, setInputs] = useState<Inputs>(() => readInputs(name));
  const secrets = fields
    .filter(isSecret)
    .map(({ path }) => path)
    .join(' ');
  useEffect(() => keepInputs(name, secrets, inputs), [name, secrets, inputs]);
  return [inputs, setInputs] as const;
}

/** How saving goes, and what the service has said of the last attempt. */
function useSaving() {
  const [failure, setFailure] = useState<unknown>();
  const [refused, setRefused] = useState<ReadonlyMap<string, string>>(noErrors);
  const [refusals, setRefusals] = useState(0);
  const [isBusy, setIsBusy] = useState(false);
  const run = (isRefused: boolean, work?: () => Promise<void>): void => {
    if (isRefused) {
      setRefusals((count) => count + 1);
      return;
    }
    setFailure(undefined);
    setRefused(noErrors);
    if (work === undefined) return;
    setIsBusy(true);
    work()
      .catch((error: unknown) => {
        setFailure(error);
        if (error instanceof Failure) setRefused(error.fields);
        setRefusals((count) => count + 1);
      })
      .finally(() => setIsBusy(false));
  };
  return { failure, refused, refusals, isBusy, run, setRefused };
}

/** Returns what is at none of these paths, nor below them. */
function without<Value>(
  map: ReadonlyMap<string, Value>,
  paths: readonly string[],
): ReadonlyMap<string, Value> {
  return new Map([...map].filter(([path]) => !paths.some((one) => isWithin(path, one))));
}

const noErrors: ReadonlyMap<string, string> = new Map();

/** Adds what the service says, each beside its field; what is about no field that is shown becomes the failure of all. */
export function withErrors(form: Form, messages: ReadonlyMap<string, string>): Form {
  const shown = fieldsOf(form.parts).filter((field) => form.isShown(field));
  const errors = new Map(form.errors);
  const others: string[] = [];
  for (const [path, message] of messages) {
    const places = shown.filter((field) => isWithin(path, field.path));
    const place = places.toSorted((one, other) => other.path.length - one.path.length)[0];
    if (place === undefined) others.push(`${path}: ${message}`);
    else if (!form.messages.has(path)) {
      const before = errors.get(place.path);
      const words = messageFor(form, place, { path, message });
      errors.set(place.path, before === undefined ? words : `${before} ${words}`);
    }
  }
  const isPlaced = form.failure instanceof Failure && form.failure.fields.size > 0 && others.length === 0;
  const rest = others.length === 0 ? form.failure : new Error(others.join('\n'));
  return {
    ...form,
    errors,
    messages: new Map([...messages, ...form.messages]),
    failure: isPlaced ? undefined : rest,
  };
}

/** `192.0.2.0/33: Must be a range.` for a line of a list, `3, label: Cannot be blank.` for a member of the third of several objects. */
function messageFor(
  form: Form,
  field: Field,
  { path, message }: { readonly path: string; readonly message: string },
): string {
  if (path === field.path) return message;
  const name = path.slice(field.path.length + 1);
  const value = form.value(field.path);
  const [index = '', ...rest] = name.split('.');
  if (!Array.isArray(value)) return `${name}: ${message}`;
  const item: unknown = value[Number(index)];
  const subject = typeof item === 'string' ? item : [Number(index) + 1, ...rest].join(', ');
  return `${subject}: ${message}`;
}

function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}.`);
}

function isParentOn(draft: Draft, { path }: Field): boolean {
  const parent = draft.fields.find(
    (field) =>
      (field.kind === 'optional' || field.kind === 'switch') &&
      field.fields?.some((one) => one.path === path) === true,
  );
  return parent === undefined || inputOf(draft, parent) === true;
}

/** What is wrong with what was typed, of the fields that are shown. */
function typedProblems(draft: Draft, form: Form): ReadonlyMap<string, string> {
  const problems = draft.fields.flatMap((field) => {
    const parsed = form.isShown(field) ? parseInput(draft, field) : { value: undefined };
    return 'problem' in parsed && parsed.problem !== '' ? [[field.path, parsed.problem] as const] : [];
  });
  return new Map(problems);
}

/** Something new has all members, those that are not shown as they began; otherwise what was changed. Members of an optional object go with it. */
function bodyOf(draft: Draft, form: Form): Values {
  const inner = new Set(
    draft.fields.flatMap((field) => (field.kind === 'optional' ? field.fields.map(({ path }) => path) : [])),
  );
  const wanted = (form.isNew ? draft.fields : form.changed).filter(({ path }) => !inner.has(path));
  const members = wanted.flatMap((field) => {
    const parsed =
      form.isNew && !form.isShown(field)
        ? parseInput({ ...draft, inputs: new Map() }, field)
        : parseInput(draft, field);
    return 'value' in parsed && parsed.value !== undefined ? [[field.path, parsed.value] as const] : [];
  });
  return toTree(members);
}
