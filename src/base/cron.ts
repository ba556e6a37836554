import { Cron } from 'croner';

/** Minute, hour, day of the month, month, day of the week. */
const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;

const MACRO = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/;
/** `*`, a number or a range, with a step or without. */
const PART = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/;

/** True for a cron expression: `0 3 * * 1-5`, `@daily`. */
export function isCron(text: string): boolean {
  if (MACRO.test(text)) return true;
  const segments = text.split(' ');
  return (
    segments.length === ranges.length &&
    ranges.every(([min, max], index) =>
      (segments[index] ?? '').split(',').every((part) => isPart(part, min, max)),
    )
  );
}

function isPart(part: string, min: number, max: number): boolean {
  const match = PART.exec(part);
  if (match === null) return false;
  const from = Number(match[1] ?? min);
  const to = Number(match[2] ?? match[1] ?? max);
  const step = Number(match[3] ?? 1);
  return from >= min && to <= max && from <= to && step >= 1 && step <= max;
}

/** Returns the first time after `nowMs` that an expression names, in UTC, in milliseconds since 1970; undefined where there is none. */
export function nextRun(cron: string, nowMs: number): number | undefined {
  // It knows all of the macros but one.
  const pattern = cron === '@midnight' ? '@daily' : cron;
  return new Cron(pattern, { timezone: 'UTC', paused: true }).nextRun(new Date(nowMs))?.getTime();
}

/** Returns the last time up to now that an expression names; undefined where there is none. */
export function lastRun(cron: string, nowMs: number): number | undefined {
  // The run of this second is in the past: `previousRuns` would leave it out.
  const nextSecond = new Date((Math.floor(nowMs / 1_000) + 1) * 1_000);
  return new Cron(cron, { timezone: 'UTC', paused: true }).previousRuns(1, nextSecond)[0]?.getTime();
}
