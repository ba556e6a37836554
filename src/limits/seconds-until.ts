/** For `Retry-After` and its like: whole seconds, never none, from now to the end of a window. Both in milliseconds. */
export function secondsUntil(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1_000));
}
