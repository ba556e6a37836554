/** What is left of a name when a program makes `PostsRecord`, `posts_record` and `postsrecord.go` of it. */
export function foldName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}

interface DistinctNameOptions {
  /** Folded names that there are already. It gains those of each name that is made. */
  readonly existing?: Set<string>;
  /** All folded names that come of a name. */
  readonly formsOf?: (name: string) => readonly string[];
}

/** Makes names that stay different when folded: a stem, or the stem with the first number that is free. */
export function distinctNames({
  existing = new Set(),
  formsOf = (name) => [foldName(name)],
}: DistinctNameOptions = {}): (stem: string) => string {
  // Without it, many stems of the same letters would each try all numbers before theirs.
  const nextNumbers = new Map<string, number>();
  return (stem) => {
    for (let number = nextNumbers.get(foldName(stem)) ?? 1; ; number += 1) {
      const name = number === 1 ? stem : `${stem}${number}`;
      const forms = formsOf(name);
      if (forms.some((form) => existing.has(form))) continue;
      for (const form of forms) existing.add(form);
      nextNumbers.set(foldName(stem), number + 1);
      return name;
    }
  };
}
