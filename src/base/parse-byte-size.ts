const factors = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 } as const;

/** Reads a number of bytes, as `512`, `5GiB`; undefined for what is none. */
export function parseByteSize(text: string): number | undefined {
  const { digits, unit = '' } = /^(?<digits>\d{1,16})(?<unit>|KiB|MiB|GiB|TiB)$/.exec(text)?.groups ?? {};
  // The pattern admits no other unit.
  return digits === undefined ? undefined : Number(digits) * factors[unit as keyof typeof factors];
}
