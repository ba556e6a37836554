import type { BackupsRunResult } from './backups-run.ts';

interface BackupFigures extends Omit<BackupsRunResult, 'outages'> {
  readonly outages: number;
  /** In milliseconds. */
  readonly outageMedian: number;
  readonly outageP95: number;
  readonly outageLongest: number;
}

/** The sums of all runs, and how long instances were not served. */
export function backupFigures(results: readonly BackupsRunResult[]): BackupFigures {
  const sum = (figure: Exclude<keyof BackupsRunResult, 'outages' | 'violations'>): number =>
    results.reduce((total, result) => total + result[figure], 0);
  const outages = results.flatMap((result) => result.outages).toSorted((one, other) => one - other);
  const at = (share: number): number =>
    Math.round(outages[Math.min(outages.length - 1, Math.floor(share * outages.length))] ?? 0);
  return {
    rounds: sum('rounds'),
    backups: sum('backups'),
    restores: sum('restores'),
    undone: sum('undone'),
    kills: sum('kills'),
    acknowledged: sum('acknowledged'),
    lost: sum('lost'),
    receipts: sum('receipts'),
    repeatedByKills: sum('repeatedByKills'),
    repeatedInFlight: sum('repeatedInFlight'),
    repeatedUnknown: sum('repeatedUnknown'),
    outages: outages.length,
    outageMedian: at(0.5),
    outageP95: at(0.95),
    outageLongest: at(1),
    violations: results.flatMap(({ violations }) => violations),
  };
}
