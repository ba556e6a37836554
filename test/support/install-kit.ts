import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds `@chancery/webhooks` and puts it where programs in `folder` find it, as npm would, without the rest of the repository. */
export function installKit(folder: string): void {
  const place = join(folder, 'node_modules', '@chancery', 'webhooks');
  mkdirSync(place, { recursive: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', join(root, 'kit', 'tsconfig.build.json'), '--outDir', join(place, 'dist')];
  const built = spawnSync(process.execPath, [compiler, ...options], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stdout + built.stderr);
  for (const file of ['package.json', 'README.md', 'LICENSE'])
    cpSync(join(root, 'kit', file), join(place, file));
}
