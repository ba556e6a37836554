const step = 1024;
const units = ['KB', 'MB', 'GB', 'TB'] as const;

/** `1 KB`, `3.4 MB`, `120 MB`: how large a file is, to two digits at least. */
export function byteSize(bytes: number): string {
  let size = Math.max(bytes, 1) / step;
  let index = 0;
  while (size >= step && index < units.length - 1) {
    size /= step;
    index += 1;
  }
  const digits = index > 0 && size < 10 ? 1 : 0;
  const number = Math.max(size, 1).toLocaleString(undefined, { maximumFractionDigits: digits });
  return `${number} ${units[index] ?? ''}`;
}
