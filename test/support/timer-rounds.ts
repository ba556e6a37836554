/**
 * Waits until a timer of this length has gone off so often. Timers of the same length go off in the order in which they were set:
 * whatever looked each time before this has looked as often, however slow the machine is.
 */
export function timerRounds(lengthMs: number, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      resolve();
    }, lengthMs);
  });
}
