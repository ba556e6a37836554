/** A moment as the reader's locale and time zone have it, in UTC on hover. Takes the text of the API: `2026-11-25 23:54:55.123Z`. */
export function Time({ value }: { readonly value: string }) {
  const date = parseTime(value);
  if (date === undefined) return <span>{value}</span>;
  return (
    <time dateTime={date.toISOString()} title={value.replace('Z', ' UTC')}>
      {timeText(date)}
    </time>
  );
}

export function parseTime(value: string): Date | undefined {
  const date = new Date(value.replace(' ', 'T'));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Digits of one width, so that a column of them can be compared at a glance. */
const day = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const minute = { ...day, hour: '2-digit', minute: '2-digit' } as const;
const times = new Intl.DateTimeFormat(undefined, { ...minute, second: '2-digit' });
const minutes = new Intl.DateTimeFormat(undefined, minute);
const hours = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const monthDays = new Intl.DateTimeFormat(undefined, { month: '2-digit', day: '2-digit', timeZone: 'UTC' });
const daysInUtc = new Intl.DateTimeFormat(undefined, { ...day, timeZone: 'UTC' });

/** `11/25/2026, 11:54:55 PM`, or whatever the reader's locale has. */
function timeText(date: Date): string {
  return times.format(date);
}

/** Pixels of a column of a table that has a `Time`: locales differ by a third. */
export const timeWidth = Math.ceil(timeText(new Date(2026, 10, 25, 23, 54, 55)).length * 7.4) + 26;

/** The same as `timeText`, without seconds. */
export function minuteText(date: Date): string {
  return minutes.format(date);
}

/** `11/25/2026`, of a day that the service counts in UTC. */
export function dayText(date: Date): string {
  return daysInUtc.format(date);
}

/** What the axis of a plot has room for: `11:54 PM`, or `11/25` of a day. */
export function shortTime(date: Date, step: 'hour' | 'day'): string {
  return (step === 'hour' ? hours : monthDays).format(date);
}

/** `2026-11-25T23:54:55` in the time zone of the reader, for inputs of dates. */
export function localTime(date: Date): string {
  const dayOf = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
  return `${dayOf}T${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

const minuteSeconds = 60;
const hourSeconds = 3_600;
const daySeconds = 86_400;

/** `3 minutes`: how long something has lasted, to one unit. */
export function duration(seconds: number): string {
  if (seconds < minuteSeconds) return plural(Math.round(seconds), 'second');
  if (seconds < hourSeconds) return plural(Math.round(seconds / minuteSeconds), 'minute');
  if (seconds < 2 * daySeconds) return plural(Math.round(seconds / hourSeconds), 'hour');
  return plural(Math.round(seconds / daySeconds), 'day');
}

/** The same to what one can picture, in less room: `20 s`, `3 min`, `2.5 h`, `3 days`. */
export function shortDuration(seconds: number): string {
  if (seconds < minuteSeconds) return `${seconds} s`;
  if (seconds < hourSeconds) return `${rounded(seconds / minuteSeconds)} min`;
  if (seconds < 2 * daySeconds) return `${rounded(seconds / hourSeconds)} h`;
  return `${rounded(seconds / daySeconds)} days`;
}

function rounded(value: number): number {
  return value < 10 ? Math.round(value * 10) / 10 : Math.round(value);
}

/** `1 record`, `12,304 records`. */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString()} ${noun}${count === 1 ? '' : 's'}`;
}
