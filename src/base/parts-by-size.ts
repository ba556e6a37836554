/** Splits items into runs of at most `max` in total size, keeping their order; a single larger item is a run of its own. */
export function partsBySize<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
  max: number,
): readonly (readonly Item[])[] {
  const parts: Item[][] = [];
  let part: Item[] | undefined;
  let size = 0;
  for (const item of items) {
    const its = sizeOf(item);
    if (part === undefined || size + its > max) {
      part = [];
      parts.push(part);
      size = 0;
    }
    part.push(item);
    size += its;
  }
  return parts;
}
