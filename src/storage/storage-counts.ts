import { Histogram, secondsBounds } from '../base/histogram.ts';

/** What is counted of all databases of a process, logs of requests left out. They are plain numbers, which metrics show. */
export class StorageCounts {
  /** How many works shared each commit. */
  readonly commitWrites = new Histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
  /** How long each commit took, until it was on the disk. */
  readonly commitSeconds = new Histogram(secondsBounds);
  /**
   * How long statements took, without the wait for a connection, but with that for a thread: a read, a search, and all that the works of a
   * commit did before it.
   */
  readonly sqlSeconds = {
    read: new Histogram(secondsBounds),
    search: new Histogram(secondsBounds),
    write: new Histogram(secondsBounds),
  } as const;
  readonly pools: readonly PoolCounts[];

  constructor(pools: readonly PoolCounts[]) {
    this.pools = pools;
  }

  /** Notes a commit that is on the disk, of works that were kept. */
  noteCommit(works: number, tookMs: number): void {
    // Each of them is run again alone.
    if (works === 0) return;
    this.commitWrites.note(works);
    this.commitSeconds.noteMs(tookMs);
  }
}

/** What a statement is for. */
export type StatementKind = keyof StorageCounts['sqlSeconds'];

/** A limited number of connections or threads, and how long callers wait for one. */
export interface PoolCounts {
  readonly name: 'requests' | 'background' | 'readers' | 'views';
  /** How long each wait took, those included that were over at once. */
  readonly waitSeconds: Histogram;
  readonly waiting: () => number;
  readonly inUse: () => number;
}
