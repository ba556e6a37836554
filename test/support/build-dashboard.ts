import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
let isBuilt = false;

/** Builds the dashboard where its sources are newer than what is there, as `npm start` does. */
export function buildDashboard(): void {
  if (isBuilt) return;
  const options = { cwd: root, encoding: 'utf8' } as const;
  const made = spawnSync(process.execPath, ['tools/build-dashboard.ts', '--if-stale'], options);
  assert.equal(made.status, 0, made.stderr);
  isBuilt = true;
}
