import { countTry, type Count } from './count-try.ts';

export interface Guess {
  readonly counts: readonly Count[];
  readonly verify: () => Promise<boolean>;
  /** Makes the error for too many wrong guesses; no other guess is accepted until `endMs` (milliseconds since 1970). */
  readonly refusal: (endMs: number) => Error;
}

/** Returns whether a guess is right, and counts wrong ones. After too many of these it throws without verifying the guess. */
export async function countGuess({ counts, verify, refusal }: Guess): Promise<boolean> {
  const counted = await countTry(counts);
  if (counted.kind === 'full') throw refusal(counted.endMs);
  let isWrong = false;
  try {
    isWrong = !(await verify());
    return !isWrong;
  } finally {
    // A guess that could not be verified does not count either.
    if (!isWrong) counted.giveBack();
  }
}
