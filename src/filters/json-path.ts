/**
 * The way into a json value from the steps of a name: `data.list.0` gives `['list', 0]`. Digits are a place in an array, never a
 * member of an object; so many digits that an engine's counter could run over are a name, which no array has.
 */
export function jsonPath(steps: readonly string[]): readonly (string | number)[] {
  return steps.map((step) => (/^\d{1,9}$/.test(step) ? Number(step) : step));
}
