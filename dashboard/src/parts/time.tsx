/** A moment in the time zone of the reader, with that of the service on hover. Takes the text of the API: `2026-11-25 23:54:55.123Z`. */
export function Time({ value }: { readonly value: string }) {
  const date = parseTime(value);
  if (date === undefined) return <span>{value}</span>;
  return (
    <time dateTime={date.toISOString()} title={value.replace('Z', ' UTC')}>
      {localTime(date)}
    </time>
  );
}

export function parseTime(value: string): Date | undefined {
  const date = new Date(value.replace(' ', 'T'));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** `2026-11-25 23:54:55`: digits of one width, so that a column of them can be compared at a glance, in every language. */
export function localTime(date: Date): string {
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`;
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

/** `1 record`, `12,304 records`. */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
