/** Those that are left over, whichever way each of the others is given another of what it could have. */
export function unmatched<Item>(
  items: readonly Item[],
  couldHave: (item: Item) => readonly unknown[],
): readonly Item[] {
  const owners = new Map<unknown, Item>();
  const findFor = (item: Item, tried: Set<unknown>): boolean =>
    couldHave(item).some((other) => {
      if (tried.has(other)) return false;
      tried.add(other);
      const owner = owners.get(other);
      // Or it is taken from an owner who finds something else.
      if (owner !== undefined && !findFor(owner, tried)) return false;
      owners.set(other, item);
      return true;
    });
  return items.filter((item) => !findFor(item, new Set()));
}
