import { countTry, type Count } from './count-try.ts';

export interface Guess {
  readonly counts: readonly Count[];
  readonly verify: () => Promise<boolean>;
  /** What is thrown when too many were wrong, by the moment (milliseconds since 1970) until which no other is taken. */
  readonly refusal: (endMs: number) => Error;
}

/** Whether a guess is right, unless too many were wrong before: then not even the right one is looked at. Wrong ones count. */
export async function countGuess({ counts, verify, refusal }: Guess): Promise<boolean> {
  const counted = await countTry(counts);
  if (counted.kind === 'full') throw refusal(counted.endMs);
  let isWrong = false;
  try {
    isWrong = !(await verify());
    return !isWrong;
  } finally {
    // One that could not be looked at was no guess.
    if (!isWrong) counted.giveBack();
  }
}
