/** Whether this run is a sample: `npm test` has no time for all that `npm run test:all` does. */
export const isSample = process.env['CHANCERY_TEST_SAMPLE'] === '1';

/** For a test that is no part of a sample, where others of its kind are. */
export const notInSample = { skip: isSample && 'npm run test:all' } as const;

/** Returns how many of a kind there are to be: fewer in a sample. */
export function inSample(count: number, inAll: number): number {
  return isSample ? count : inAll;
}
