/** Milliseconds by a clock that all processes of the machine share and nobody sets, to compare what two of them have noted. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}
