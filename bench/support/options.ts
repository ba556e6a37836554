export interface BenchOptions {
  /** Alternating runs of each side. */
  readonly runs: number;
  /** Of one run. */
  readonly seconds: number;
  /** Of load on each side before the first run that counts: this much is done before most of a server is compiled. */
  readonly warmUpSeconds: number;
  /** Records in the collection. */
  readonly rows: number;
  /** Instances of a fleet. */
  readonly instances: number;
  /** A PostgreSQL server where databases may be made; undefined asks about SQLite. */
  readonly postgres: string | undefined;
  /** The one line to measure, of a question that has several; all of them where it is undefined. */
  readonly only: string | undefined;
  /** Threads that run the instances of a service on SQLite; 0 for the one that takes requests. */
  readonly hostThreads: number;
  /** The program of PocketBase. */
  readonly pocketbase: string | undefined;
  /** Whether the figures become those of the documentation. */
  readonly isWritten: boolean;
}

/** Runs of each side before the first that counts. */
export function warmUpsOf({ warmUpSeconds, seconds }: BenchOptions): number {
  return Math.ceil(warmUpSeconds / seconds);
}

/** For runs that take as long as their work takes, whatever `seconds` says. */
export function warmedUpOnce(options: BenchOptions): BenchOptions {
  return { ...options, warmUpSeconds: options.seconds };
}

/** The least that counts as a result differs: a round trip to a server is no function call. */
export function floorOf(
  { postgres }: BenchOptions,
  floors: { readonly sqlite: number; readonly postgres: number },
): number {
  return postgres === undefined ? floors.sqlite : floors.postgres;
}

/** The arguments of `serve` for these threads. PostgreSQL has none. */
export function hostThreadsOf({ hostThreads }: BenchOptions): readonly string[] {
  return ['--host-threads', String(hostThreads)];
}

export function engineOf({ postgres }: BenchOptions): string {
  return postgres === undefined ? 'sqlite' : 'postgres';
}
