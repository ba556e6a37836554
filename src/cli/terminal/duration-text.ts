const units = [
  ['day', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Returns whole seconds for people, in the two largest units: `2 h 3 min`. */
export function durationText(seconds: number): string {
  let left = Math.floor(seconds);
  const parts = units.flatMap(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${count} ${unit === 'day' && count > 1 ? 'days' : unit}`];
  });
  return parts.length === 0 ? '0 s' : parts.slice(0, 2).join(' ');
}
