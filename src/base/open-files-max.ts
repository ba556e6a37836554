import { readFileSync } from 'node:fs';
import { codeOf } from './code-of.ts';

/** Where Linux says what this process may use. */
const linuxLimits = '/proc/self/limits';

/**
 * Returns how many files and connections this process may have open at once; infinity where that is not limited. Node has raised the
 * limit to the highest that it may have when it started.
 */
export function openFilesMax(path = linuxLimits): number {
  const max = Number(/^Max open files +(\d+)/m.exec(readLimits(path))?.[1]);
  return Number.isNaN(max) ? reportedMax() : max;
}

function readLimits(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // Other systems have no such file.
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}

/** Part of Node's diagnostic report: a limit is a number or `unlimited`. Windows has none of them. */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/** Takes some milliseconds. */
function reportedMax(): number {
  const reporter = process.report;
  // Otherwise the report looks up the names of all peers.
  Object.assign(reporter, { excludeNetwork: true });
  // The cast holds: a report is an object, and each part of it is optional here.
  const report = reporter.getReport() as Report;
  const max = report.userLimits?.open_files?.soft;
  return typeof max === 'number' ? max : Number.POSITIVE_INFINITY;
}
