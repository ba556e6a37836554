import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.ts';

/** Where the workspace is built, and what the server and every shipped form take from there. */
export const dashboardFolder = join(root, 'dashboard/dist');

/** True where no build is there, or a source is newer than it. Loads no bundler, as each start asks. */
export function isDashboardStale(): boolean {
  const builtMs = modifiedMs(join(dashboardFolder, 'files.json'));
  const sources = [
    'dashboard/src/**/*',
    'dashboard/*.{json,html}',
    'docs/verify/*',
    'tools/build/dashboard*.ts',
  ];
  return globSync(sources, { cwd: root }).some((path) => modifiedMs(join(root, path)) > builtMs);
}

function modifiedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
