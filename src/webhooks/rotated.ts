/** Returns the same items in the same circular order, beginning with the one at index `by`. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}
