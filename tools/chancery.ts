#!/usr/bin/env node
/**
 * `npx chancery` in a checkout: runs the sources, and builds the dashboard first when a server starts and the build is out of date.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isDashboardStale } from './build/dashboard-stale.ts';

const command = process.argv[2] ?? 'serve';
if ((command === 'serve' || command.startsWith('-')) && isDashboardStale()) {
  const build = fileURLToPath(new URL('build-dashboard.ts', import.meta.url));
  spawnSync(process.execPath, [build, '--if-stale'], { stdio: ['ignore', 'inherit', 'inherit'] });
}
await import('../src/main.ts');
