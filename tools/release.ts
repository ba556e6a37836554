/**
 * Makes a release: `npm run release -- 0.1.0 --dry-run`. In dist/release-0.1.0/ it leaves both npm packages, the executables for Linux, what a
 * container is built of, the Helm chart, bills of materials, the notes and SHA256SUMS. It publishes nothing, which `--dry-run` confirms:
 * what is published are these files, by .github/workflows/release.yml.
 */
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './build/root.ts';
import { findReleaseProblems } from './release/find-release-problems.ts';
import { makeRelease } from './release/make-release.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false } },
});
const [version] = positionals;
if (version === undefined || positionals.length > 1 || !values['dry-run']) {
  console.error('Usage: npm run release -- VERSION --dry-run');
  process.exit(64);
}
const problems = findReleaseProblems(root, version);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
const folder = join(root, 'dist', `release-${version}`);
rmSync(folder, { recursive: true, force: true });
for (const path of await makeRelease(folder, version)) console.log(relative(root, path));
