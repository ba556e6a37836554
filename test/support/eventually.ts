import { setTimeout as delay } from 'node:timers/promises';

/** Only what never comes must fail: far above what a slow and busy machine needs, below the time limit of a test. */
const timeoutMsDefault = 60_000;
const pauseMs = 10;

/** Looks again until `check` throws no more and gives anything but undefined or false; then gives that. */
export async function eventually<Value>(
  what: string,
  check: () => Value | Promise<Value>,
  timeoutMs = timeoutMsDefault,
): Promise<Exclude<Value, undefined | false>> {
  const end = performance.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const value = await check();
      // What is neither undefined nor false is what the type leaves of Value.
      if (value !== undefined && value !== false) return value as Exclude<Value, undefined | false>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await delay(pauseMs);
  } while (performance.now() < end);
  throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause });
}
