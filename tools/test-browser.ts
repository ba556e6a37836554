/**
 * The tests of the dashboard in a browser: `npm run test:browser`, or with files of test/browser behind `--`. They are no part of the gate
 * but for smoke.test.ts, and need a Chromium on the path.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const chosen = process.argv.slice(2);
const files = chosen.length > 0 ? chosen : globSync('test/browser/*.ts', { cwd: root }).toSorted();
// A browser and a server use more than a processor, so one file at a time. The limit is for hangs: it applies to a whole file, and the
// pictures of all screens take ten minutes on two processors that do nothing else.
const options = ['--test', '--test-concurrency=1', '--test-timeout=3600000', '--test-force-exit'];
const { status } = spawnSync(process.execPath, [...options, ...files], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
