/** Waits for the work, but not longer than `delayMs`. Rejects when the work does so before that. */
export async function atMost(delayMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, delayMs)));
  await Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
