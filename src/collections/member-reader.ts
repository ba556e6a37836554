import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import type { Problems } from '../fields/field-type.ts';

/**
 * Reads members of a definition. A member that is absent or null returns `was`; one of the wrong type is reported as a problem and
 * returns `was`, too.
 */
export interface MemberReader {
  readonly names: () => readonly string[];
  /** Whether it is there at all, be it null. */
  readonly has: (name: string) => boolean;
  readonly flag: (name: string, was: boolean) => boolean;
  text(name: string, was: string): string;
  text(name: string, was: undefined): string | undefined;
  readonly texts: (name: string, was: readonly string[]) => readonly string[];
  readonly list: (name: string) => readonly unknown[];
  readonly count: (
    name: string,
    was: number,
    range: { readonly min: number; readonly max: number },
  ) => number;
  /** Here null is a value, and does not count as absent. */
  readonly rule: (name: string, was: string | null) => string | null;
  /** Reads the members of a member; their problems are reported under its name. */
  readonly members: <Result>(name: string, decode: (read: MemberReader) => Result) => Result;
  readonly refuse: (name: string, problem: FieldError | FieldErrors) => void;
}

export function memberReader(raw: Readonly<Record<string, unknown>>, problems: ProblemList): MemberReader {
  const member = (name: string): unknown => (Object.hasOwn(raw, name) ? (raw[name] ?? undefined) : undefined);
  const refuse = (name: string, problem: FieldError | FieldErrors): void => problems.add(name, problem);
  const expect = <Value>(name: string, what: string, isIt: (value: unknown) => value is Value) => {
    const value = member(name);
    if (value === undefined || isIt(value)) return value;
    refuse(name, invalidValue(`Must be ${what}.`));
    return undefined;
  };
  function text(name: string, was: string): string;
  function text(name: string, was: undefined): string | undefined;
  function text(name: string, was: string | undefined): string | undefined {
    return expect(name, 'a text', isText) ?? was;
  }
  return {
    names: () => Object.keys(raw),
    has: (name) => Object.hasOwn(raw, name),
    flag: (name, was) => expect(name, 'true or false', isFlag) ?? was,
    text,
    texts: (name, was) => expect(name, 'a list of texts', isTexts) ?? was,
    list: (name) => expect(name, 'a list', isList) ?? [],
    count: (name, was, { min, max }) => {
      const value = expect(name, 'a whole number', isWhole);
      if (value === undefined) return was;
      if (value < min)
        refuse(name, fieldError('validation_min_greater_equal_than_required', { threshold: min }));
      if (value > max)
        refuse(name, fieldError('validation_max_less_equal_than_required', { threshold: max }));
      return value;
    },
    rule: (name, was) => {
      const rule = Object.hasOwn(raw, name) ? raw[name] : undefined;
      if (rule === undefined) return was;
      if (rule === null || typeof rule === 'string') return rule;
      const message = 'Invalid rule. Expected null, an empty string or a filter.';
      refuse(name, { code: 'validation_invalid_rule', message });
      return was;
    },
    members: (name, decode) => {
      const inner = new ProblemList();
      const result = decode(memberReader(expect(name, 'an object', isJsonObject) ?? {}, inner));
      problems.addAll(name, inner);
      return result;
    },
    refuse,
  };
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

/** Collects the problems of a definition, to report all of them at once. The first problem of a name is kept. */
export class ProblemList implements Problems {
  readonly #errors = new Map<string, FieldError | FieldErrors>();

  add(name: string, error: FieldError | FieldErrors): void {
    if (!this.#errors.has(name)) this.#errors.set(name, error);
  }

  get isEmpty(): boolean {
    return this.#errors.size === 0;
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }

  /** Puts the problems of a member (a field, an index) under its name, if there are any. */
  addAll(name: string, members: ProblemList): void {
    if (!members.isEmpty) this.add(name, members.toErrors());
  }

  throwIfAny(message: string): void {
    if (!this.isEmpty) throw new AppError('bad_request', message, { details: this.toErrors() });
  }
}
