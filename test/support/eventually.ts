import { setTimeout as delay } from 'node:timers/promises';

/** Far above what a slow and busy machine needs, but below the time limit of a test. */
const timeoutMsDefault = 60_000;
const pauseMs = 10;

/** Repeats `check` until it neither throws nor returns undefined or false; then returns its result. */
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
      // The cast holds: undefined and false were just ruled out.
      if (value !== undefined && value !== false) return value as Exclude<Value, undefined | false>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await delay(pauseMs);
  } while (performance.now() < end);
  // Reports of failures have the message alone.
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  throw new Error(`not within ${timeoutMs} ms: ${what}${why}`, { cause });
}
