/** Which transactions were over when the snapshot was taken: all before `end` that are not `running`. */
export interface PostgresSnapshot {
  readonly end: number;
  /** The transactions before `end` that have not ended. */
  readonly running: ReadonlySet<number>;
}

/** Parses `xmin:xmax:xip_list` (https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT). */
export function toSnapshot(text: string): PostgresSnapshot {
  const [, end = '', running = ''] = text.split(':');
  return { end: Number(end), running: new Set(running.split(',').filter(Boolean).map(Number)) };
}

/** More ended transactions are not looked through: one of them has surely changed something. */
export const endedMax = 1_000;

/** True when all transactions that ended between two snapshots are among `ignored`. */
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
