import { readFileSync } from 'node:fs';

/** The memory of a process in the system's eyes (RSS). Linux only, as is all else that tells it of another process. */
export function residentMb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid ?? 'self'}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024);
}
