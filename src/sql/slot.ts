import { assert } from '../base/assert.ts';

/** A value that a statement takes from the request it is made for. */
export type SlotValue = string | number | bigint | null;

/** Whether a statement holds for a request with these values. */
export type SlotTest = (values: readonly SlotValue[]) => boolean;

/**
 * A place for a value in a statement that is kept and run for other requests, each with values of its own. Whatever the text of the
 * statement depends on is evaluated by {@link holds}: the statement is right only for requests with the same results.
 */
export class Slot {
  readonly example: SlotExample;
  readonly read: (values: readonly SlotValue[]) => SlotValue;

  constructor(example: SlotExample, read: (values: readonly SlotValue[]) => SlotValue) {
    this.example = example;
    this.read = read;
  }

  /** The value in the request for which the statement is made. The values of other requests have its type. */
  get value(): Exclude<SlotValue, null> {
    const value = this.read(this.example.values);
    assert(value !== null, 'a slot has a value until its statement is made');
    return value;
  }

  get tests(): SlotTest[] {
    return this.example.tests;
  }
}

/** What all slots of a statement share while it is made. The values are emptied then: they may be large. */
export interface SlotExample {
  readonly values: SlotValue[];
  /** Gets the conditions under which the statement holds. */
  readonly tests: SlotTest[];
}

/** Returns whether the test holds for a constant, or for the constant in the slot, where the answer becomes a condition of the statement. */
export function holds<Value extends SlotValue>(
  constant: Value | Slot,
  test: (value: Value) => boolean,
): boolean {
  if (!(constant instanceof Slot)) return test(constant);
  // A slot stands for a constant of the type that the test takes; its values are all of one type.
  const testValue = test as (value: SlotValue) => boolean;
  const answer = testValue(constant.value);
  constant.tests.push((values) => testValue(constant.read(values)) === answer);
  return answer;
}

/** As {@link holds}, of two constants. */
export function bothHold<Value extends SlotValue>(
  left: Value | Slot,
  right: Value | Slot,
  test: (left: Value, right: Value) => boolean,
): boolean {
  if (!(right instanceof Slot)) return holds<Value>(left, (value) => test(value, right));
  if (!(left instanceof Slot)) return holds<Value>(right, (value) => test(left, value));
  // As in `holds`.
  const testValues = test as (left: SlotValue, right: SlotValue) => boolean;
  const answer = testValues(left.value, right.value);
  left.tests.push((values) => testValues(left.read(values), right.read(values)) === answer);
  return answer;
}

/** Converts a constant, or the constants in the slot. The type of the result depends on nothing but the type of the constant. */
export function converted<Value extends SlotValue, Result extends Exclude<SlotValue, null>>(
  constant: Value | Slot,
  convert: (value: Value) => Result,
): Result | Slot {
  if (!(constant instanceof Slot)) return convert(constant);
  // As in `holds`.
  const convertValue = convert as (value: SlotValue) => Result;
  return new Slot(constant.example, (values) => convertValue(constant.read(values)));
}

/** Returns the constant itself. A statement that it is part of holds for this constant alone. */
export function pinned<Value extends SlotValue>(constant: Value | Slot): Value {
  if (!(constant instanceof Slot)) return constant;
  const { value } = constant;
  holds(constant, (other) => other === value);
  // As in `holds`.
  return value as SlotValue as Value;
}

/** Returns the type of a constant, which is the same for all values of a slot. */
export function typeOf(constant: Exclude<SlotValue, null> | Slot): 'string' | 'number' | 'bigint' {
  const type = typeof (constant instanceof Slot ? constant.value : constant);
  return type === 'string' || type === 'number' ? type : 'bigint';
}
