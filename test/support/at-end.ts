import type { TestContext } from 'node:test';

type Work = () => unknown;

const works = new WeakMap<TestContext, Work[]>();

/**
 * Does this when the test ends: what was asked for last is done first, so that a server has stopped before its
 * folder is removed. (`t.after` alone keeps the order in which it was called.)
 */
export function atEnd(t: TestContext, work: Work): void {
  const known = works.get(t);
  if (known !== undefined) return void known.push(work);
  const added = [work];
  works.set(t, added);
  t.after(() => runBackwards(added));
}

/** Does all of them, and fails as the first one that has failed. */
async function runBackwards(added: readonly Work[]): Promise<void> {
  const failures: unknown[] = [];
  for (const work of added.toReversed())
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
}
