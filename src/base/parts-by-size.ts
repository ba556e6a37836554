/** Neighbours together, in their order, as many as are not larger than `max` in all; one that is larger by itself is a part of its own. */
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
