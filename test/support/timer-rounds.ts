/**
 * Waits until a timer of this length has fired `count` times. Timers of equal length fire in the order in which they were set, so a
 * timer of this length that was set earlier has fired as often, however slow the machine is.
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
