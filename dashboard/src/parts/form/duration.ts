const secondsByUnit = { ms: 0.001, s: 1, min: 60, m: 60, h: 3_600, d: 86_400 } as const;
const largestFirst = ['d', 'h', 'min', 's', 'ms'] as const;

/** Returns the seconds of `90`, `90 s`, `1.5 min` or `2 d`; undefined for anything else. A number alone is in `unit`. */
export function parseDuration(text: string, unit: 's' | 'ms' = 's'): number | undefined {
  const [, number = '', name = unit] =
    /^(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|min|m|h|d)?$/.exec(text.trim().replaceAll(',', '')) ?? [];
  return number === '' || !isUnit(name) ? undefined : Number(number) * secondsByUnit[name];
}

function isUnit(text: string): text is keyof typeof secondsByUnit {
  return text in secondsByUnit;
}

/** Returns a duration in the largest unit that leaves nothing over: `90 s`, `2 min`. */
export function formatDuration(seconds: number): string {
  const milliseconds = Math.round(seconds * 1_000);
  const unit = largestFirst.find((name) => {
    const length = secondsByUnit[name] * 1_000;
    return milliseconds >= length && milliseconds % length === 0;
  });
  return unit === undefined
    ? `${seconds} s`
    : `${Math.round(milliseconds / (secondsByUnit[unit] * 1_000))} ${unit}`;
}

/** Returns the seconds of `5 s, 2 min, 1 h`, none for an empty text; undefined for anything else. */
export function parseDelays(text: string): readonly number[] | undefined {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  const delays = parts.map((part) => parseDuration(part));
  return delays.every((delay) => delay !== undefined) ? delays : undefined;
}

const step = 1024;
const byteUnits = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Returns the bytes of `5 GiB`, `5GB` or `1,000`; undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const [, digits, unit = ''] =
    /^(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)?$/i.exec(text.trim().replaceAll(',', '')) ?? [];
  if (digits === undefined) return undefined;
  const power = byteUnits.findIndex((one) => one.startsWith(unit.slice(0, 1).toUpperCase())) + 1;
  return Math.round(Number(digits) * step ** (unit === '' ? 0 : power));
}

/** Returns `5 GiB` where that is exact, else the number. */
export function formatBytes(bytes: number): string {
  const power = byteUnits.findLastIndex((_, index) => bytes % step ** (index + 1) === 0);
  return bytes === 0 || power === -1
    ? String(bytes)
    : `${bytes / step ** (power + 1)} ${byteUnits[power] ?? ''}`;
}
