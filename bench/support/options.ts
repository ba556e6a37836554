export interface BenchOptions {
  /** Alternating runs of each side. */
  readonly runs: number;
  /** Of one run. */
  readonly seconds: number;
  /** Records in the collection. */
  readonly rows: number;
  /** A PostgreSQL server where databases may be made; undefined asks about SQLite. */
  readonly postgres: string | undefined;
}

/** The least that counts as a result differs: a round trip to a server is no function call. */
export function floorOf(
  { postgres }: BenchOptions,
  floors: { readonly sqlite: number; readonly postgres: number },
): number {
  return postgres === undefined ? floors.sqlite : floors.postgres;
}

export function engineOf({ postgres }: BenchOptions): string {
  return postgres === undefined ? 'sqlite' : 'postgres';
}
