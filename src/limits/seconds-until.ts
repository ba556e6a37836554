/** Returns the whole seconds from now to the end of a window, at least 1, for `Retry-After`. Arguments are milliseconds. */
export function secondsUntil(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1_000));
}
