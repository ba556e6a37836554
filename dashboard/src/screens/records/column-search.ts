/** How columns are laid out: all names in their order, those out of sight, and those that stay at the start while others scroll. */
export interface ColumnPlan {
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  readonly pinned: readonly string[];
}

/** Reads the `columns` of an address: names with commas, `-` before a hidden one, `*` before a pinned one. */
export function parseColumns(text: string): ColumnPlan {
  const terms = text.split(',').filter((term) => /^[-*]?\w+$/.test(term));
  const marked = (mark: string): readonly string[] =>
    terms.filter((term) => term.startsWith(mark)).map((term) => term.slice(1));
  return {
    order: terms.map((term) => term.replace(/^[-*]/, '')),
    hidden: marked('-'),
    pinned: marked('*'),
  };
}

export function formatColumns({ order, hidden, pinned }: ColumnPlan): string {
  return order
    .map((name) => (hidden.includes(name) ? `-${name}` : pinned.includes(name) ? `*${name}` : name))
    .join(',');
}
