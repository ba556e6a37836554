import { httpLimits } from './http-limits.ts';

/**
 * Returns how many connections clients may have when the process may have this many files open: at most half of them. The rest is for
 * databases, webhooks and mails, which would all fail once idle clients had taken the last file.
 */
export function connectionsMax(openFilesMax: number): number {
  return Math.min(httpLimits.connectionsMax, Math.max(1, Math.floor(openFilesMax / 2)));
}
