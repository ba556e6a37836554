const seconds = { s: 1, min: 60, m: 60, h: 3_600, d: 86_400 } as const;

/** `5 s, 2 min, 1 h` as seconds; undefined for what is something else, none for nothing. */
export function parseDelays(text: string): readonly number[] | undefined {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const delays = parts.map((part) => {
    const [, number = '', unit = 's'] = /^(\d{1,7})\s*(s|min|m|h|d)?$/.exec(part) ?? [];
    return number === '' || !isUnit(unit) ? undefined : Number(number) * seconds[unit];
  });
  return delays.every((delay) => delay !== undefined) ? delays : undefined;
}

function isUnit(text: string): text is keyof typeof seconds {
  return text in seconds;
}

/** The other way round: `5 s, 2 min`. */
export function formatDelays(delays: readonly number[]): string {
  return delays.map(formatDelay).join(', ');
}

/** In the largest unit that leaves nothing over: `90 s`, `2 min`. */
function formatDelay(delay: number): string {
  const unit = (['d', 'h', 'min'] as const).find(
    (name) => delay >= seconds[name] && delay % seconds[name] === 0,
  );
  return unit === undefined ? `${delay} s` : `${delay / seconds[unit]} ${unit}`;
}

/** How long after the first attempt, to what one can picture: `3 min`, `2.5 h`, `3 days`. */
export function roughly(delay: number): string {
  if (delay < seconds.min) return `${delay} s`;
  if (delay < seconds.h) return `${rounded(delay / seconds.min)} min`;
  if (delay < 2 * seconds.d) return `${rounded(delay / seconds.h)} h`;
  return `${rounded(delay / seconds.d)} days`;
}

function rounded(value: number): number {
  return value < 10 ? Math.round(value * 10) / 10 : Math.round(value);
}
