/**
 * Builds the dashboard: `npm run build:dashboard`, into dashboard/dist. With `--if-stale`, as `npm start` and `npm run demo` call it, it
 * does so only where no build is there or a source is newer, and says nothing where there is nothing to do.
 */
import { isDashboardStale } from './build/dashboard-stale.ts';

const isForced = !process.argv.includes('--if-stale');
if (isForced || isDashboardStale()) await makeOrExplain();

/** A server without a dashboard is better than none: an installation without what developers need cannot build one. */
async function makeOrExplain(): Promise<void> {
  const startedMs = performance.now();
  try {
    const { installDashboard, makeDashboard } = await import('./build/dashboard.ts');
    const made = await makeDashboard();
    installDashboard(made, isForced);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.error(`Built the dashboard: ${made.files.length} files in ${seconds} s.`);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing || isForced) throw error;
    console.error('The dashboard is not built: `npm ci` installs what that needs. The API works without it.');
  }
}
