/**
 * Runs work, and returns its result with how often the event loop turned meanwhile: how often other work could go on. `turn` tells the work how
 * often so far.
 */
export async function countTurns<Result>(
  work: (turn: () => number) => Promise<Result>,
): Promise<readonly [result: Result, turns: number]> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    return [await work(() => turns), turns];
  } finally {
    isOver = true;
  }
}
