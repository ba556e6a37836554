/**
 * Converts the steps of a name behind a json field to a path: `list`, `0` of `data.list.0` give `['list', 0]`. Digits are an index of an
 * array, never a member of an object. With 10 digits or more, which could overflow an engine's index, they are a member's name, which
 * no array has.
 */
export function jsonPath(steps: readonly string[]): readonly (string | number)[] {
  return steps.map((step) => (/^\d{1,9}$/.test(step) ? Number(step) : step));
}
