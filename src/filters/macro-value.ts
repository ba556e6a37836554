import { toTimestamp } from '../base/timestamp.ts';
import type { Constant } from './operand.ts';

/** Returns the value of a macro such as `@now`, in UTC, at `now` (milliseconds since 1970); undefined for every other name. */
export function macroValue(name: string, now: number): Constant | undefined {
  return macros.get(name)?.(new Date(now));
}

const dayMs = 24 * 60 * 60 * 1000;

const macros: ReadonlyMap<string, (now: Date) => Constant> = new Map<string, (now: Date) => Constant>([
  ['@now', (now) => toTimestamp(now.getTime())],
  ['@yesterday', (now) => toTimestamp(now.getTime() - dayMs)],
  ['@tomorrow', (now) => toTimestamp(now.getTime() + dayMs)],
  ['@second', (now) => BigInt(now.getUTCSeconds())],
  ['@minute', (now) => BigInt(now.getUTCMinutes())],
  ['@hour', (now) => BigInt(now.getUTCHours())],
  ['@day', (now) => BigInt(now.getUTCDate())],
  ['@month', (now) => BigInt(now.getUTCMonth() + 1)],
  ['@weekday', (now) => BigInt(now.getUTCDay())],
  ['@year', (now) => BigInt(now.getUTCFullYear())],
  ['@todayStart', (now) => startOf(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())],
  ['@todayEnd', (now) => endBefore(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)],
  ['@monthStart', (now) => startOf(now.getUTCFullYear(), now.getUTCMonth(), 1)],
  ['@monthEnd', (now) => endBefore(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)],
  ['@yearStart', (now) => startOf(now.getUTCFullYear(), 0, 1)],
  ['@yearEnd', (now) => endBefore(now.getUTCFullYear() + 1, 0, 1)],
]);

function startOf(year: number, month: number, day: number): string {
  return toTimestamp(Date.UTC(year, month, day));
}

/** The last millisecond before a day; months and days beyond the calendar's carry over. */
function endBefore(year: number, month: number, day: number): string {
  return toTimestamp(Date.UTC(year, month, day) - 1);
}
