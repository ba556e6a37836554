import type { PlainConstant } from '../filters/operand.ts';
import { type FilterSlots, macroValue } from '../filters/compile/resolve.ts';
import type { FilterTemplate } from '../filters/template.ts';
import { holds, Slot, type SlotExample, type SlotTest, type SlotValue } from '../sql/slot.ts';
import type { ConditionRequest } from './condition-request.ts';

/** The values that differ between requests of one form. */
export interface PlanRequest extends ConditionRequest {
  /** The constants in the caller's filter. */
  readonly literals: readonly (string | number)[];
  /** How many rows a page comes after; 0 where it comes after a cursor. */
  readonly offset: number;
}

/** The values that a plan reads from each request. */
export interface PlanInputs {
  readonly reads: readonly ((request: PlanRequest) => SlotValue)[];
  /** Whether the plan is right for a request with these values. */
  readonly tests: readonly SlotTest[];
  /** Whether it holds for the one request for which it was made. */
  readonly isPinned: boolean;
  readonly usesTime: boolean;
  readonly usesCaller: boolean;
  /** Whether it depends on `@request.…` besides the caller. */
  readonly usesRequest: boolean;
}

/** Assigns slots to the values of the request for which a plan is made, so that others can use the plan with theirs. */
export class PlanSlots implements FilterSlots {
  readonly #request: PlanRequest;
  readonly #positions: FilterTemplate['positions'];
  readonly #reads: ((request: PlanRequest) => SlotValue)[] = [];
  readonly #example: SlotExample = { values: [], tests: [] };
  #isPinned = false;
  #usesTime = false;
  #usesCaller = false;
  #usesRequest = false;

  /** `positions` are those of the request's literals in its filter. */
  constructor(request: PlanRequest, positions: FilterTemplate['positions']) {
    this.#request = request;
    this.#positions = positions;
  }

  literal(position: number): Slot | undefined {
    const index = this.#positions.indexOf(position);
    return index === -1 ? undefined : this.#add(({ literals }) => literals[index] ?? null);
  }

  macro(name: string, value: Exclude<PlainConstant, null>): Slot {
    this.#usesTime = true;
    return this.#slot(value, ({ now }) => macroValue(name, now) ?? null);
  }

  /** The same for a rule, whose constants are the same for every request. */
  readonly ofRules: FilterSlots = {
    literal: () => undefined,
    macro: (name, value) => this.macro(name, value),
    pin: () => this.pin(),
  };

  offset(): Slot | number {
    return this.#add(({ offset }) => offset) ?? 0;
  }

  /** The caller's id; undefined for guests, who have none. */
  callerId(): Slot | undefined {
    return this.#add(({ input: { caller } }) => (caller.kind === 'guest' ? null : caller.id));
  }

  /** The id in a relation of the caller's record, if it was looked up. */
  callerRelation(field: string): Slot | undefined {
    return this.#add(({ input }) => input.callerRelations?.get(field) ?? null);
  }

  /** Another value of the request; undefined where it is null. */
  ofRequest(read: (request: ConditionRequest) => SlotValue): Slot | undefined {
    this.#usesRequest = true;
    return this.#add(read);
  }

  /** Returns a value on which the plan depends: the plan is right only for requests with the same value. */
  decide<Value extends SlotValue>(read: (request: ConditionRequest) => Value): Value {
    const value = read(this.#request);
    const slot = this.ofRequest(read);
    if (slot !== undefined) holds<SlotValue>(slot, (other) => other === value);
    return value;
  }

  /** Called where the plan depends on the caller, guests included. */
  noteCaller(): void {
    this.#usesCaller = true;
  }

  pin(): void {
    this.#isPinned = true;
  }

  /** Returns what the plan takes from requests, once it is made: the values of the request that it was made for are forgotten. */
  finish(): PlanInputs {
    this.#example.values.length = 0;
    return {
      reads: this.#reads,
      tests: this.#example.tests,
      isPinned: this.#isPinned,
      usesTime: this.#usesTime,
      usesCaller: this.#usesCaller,
      usesRequest: this.#usesRequest,
    };
  }

  /** Adds a value that a request may also lack. */
  #add(read: (request: PlanRequest) => SlotValue): Slot | undefined {
    const value = read(this.#request);
    const place = this.#reads.length;
    const type = typeof value;
    this.#example.tests.push((values) => typeof values[place] === type);
    const slot = this.#slot(value, read);
    return value === null ? undefined : slot;
  }

  #slot(value: SlotValue, read: (request: PlanRequest) => SlotValue): Slot {
    const place = this.#reads.length;
    this.#reads.push(read);
    this.#example.values.push(value);
    return new Slot(this.#example, (values) => values[place] ?? null);
  }
}

/** Returns the values of a request for the slots of a plan; undefined where the plan is not right for them. */
export function valuesFor(
  { reads, tests }: PlanInputs,
  request: PlanRequest,
): readonly SlotValue[] | undefined {
  const values = reads.map((read) => read(request));
  return tests.every((test) => test(values)) ? values : undefined;
}
