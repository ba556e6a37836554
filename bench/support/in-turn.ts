import type { Load } from './load.ts';

/** One path after the other, over and over: the next request is for another record, as those of many clients are. */
export function inTurn(paths: readonly string[]): NonNullable<Load['next']> {
  let count = 0;
  return () => {
    count += 1;
    return { path: paths[count % paths.length] ?? '/' };
  };
}
