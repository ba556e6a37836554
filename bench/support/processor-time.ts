import { readFileSync } from 'node:fs';

/** Linux counts the time of a process in hundredths of a second, whatever its kernel ticks in (`USER_HZ`). */
const microsecondsPerTick = 10_000;

/**
 * The processor time that a process has taken so far, all its threads together, in microseconds; undefined where there is no
 * /proc. Unlike requests per second it does not change much when others use the same processors. It moves in steps of 10 ms, so
 * that it says something of whole runs only.
 */
export function processorTimeUs(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the name of the program in parentheses and may hold spaces: from the third on (state), user and system
  // time are the twelfth and the thirteenth.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick;
}

/** What one of `count` requests took of it since `before`. */
export function processorUsEach(
  pid: number | undefined,
  before: number | undefined,
  count: number,
): number | undefined {
  const after = processorTimeUs(pid);
  return after === undefined || before === undefined ? undefined : (after - before) / count;
}
