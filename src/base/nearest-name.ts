/** Changes of one letter that a slip may take: `event` is one away from `events`, `schdeule` one from `schedule`. */
const changesMax = 2;
/** Longer names are no slips, and comparing them takes the square of their length. */
const nameLengthMax = 50;

/** Returns the known name that was probably meant by another one, or undefined. Case, `_` and `-` make no difference. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > nameLengthMax) return undefined;
  const letters = lettersOf(name);
  // Of a short name so many changes would leave nothing.
  let least = Math.min(changesMax, Math.floor(letters.length / 3)) + 1;
  let nearest: string | undefined;
  for (const candidate of known) {
    const changes = changesBetween(letters, lettersOf(candidate));
    if (changes >= least) continue;
    least = changes;
    nearest = candidate;
  }
  return nearest;
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** Counts the letters to add, remove, replace or swap with their neighbour (the optimal string alignment distance). */
function changesBetween(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwap = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      const replaced = (last[at - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwap ? (before[at - 2] ?? Infinity) + 1 : Infinity;
      next[at] = Math.min(replaced, swapped, (last[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1);
    }
    [before, last] = [last, next];
  }
  return last[other.length] ?? 0;
}
