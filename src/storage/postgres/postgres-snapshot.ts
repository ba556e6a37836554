/** Which transactions are over for whoever looks: all before `end` that are not still running. */
export interface PostgresSnapshot {
  readonly end: number;
  /** Those before `end` that have not ended. */
  readonly running: ReadonlySet<number>;
}

/** From the text `xmin:xmax:xip_list` (https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT). */
export function toSnapshot(text: string): PostgresSnapshot {
  const [, end = '', running = ''] = text.split(':');
  return { end: Number(end), running: new Set(running.split(',').filter(Boolean).map(Number)) };
}

/** More at once are not looked through: some of them will have changed something. */
export const endedMax = 1_000;

/** Whether of all transactions that ended between two looks each is one of these. */
export function isSameBut(
  before: PostgresSnapshot,
  now: PostgresSnapshot,
  ignored: ReadonlySet<number>,
): boolean {
  if (now.end - before.end > endedMax) return false;
  const isOf = (transaction: number): boolean => now.running.has(transaction) || ignored.has(transaction);
  for (const transaction of before.running) if (!isOf(transaction)) return false;
  for (let transaction = before.end; transaction < now.end; transaction += 1)
    if (!isOf(transaction)) return false;
  return true;
}
