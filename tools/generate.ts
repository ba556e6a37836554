/**
 * Writes every generated file, and prints the paths of those that have changed. Tests fail when one is stale.
 *
 *   npm run generate                      all of them: tests write what only a running service shows
 *   npm run generate -- --without-tests   only those that follow from the sources alone
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOfTests, generatedFiles, staleFiles } from './build/generated-files.ts';
import { root } from './build/root.ts';

process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  const files = generatedFiles();
  for (const path of staleFiles(root, files)) {
    writeFileSync(join(root, path), files.get(path) ?? '');
    console.log(`wrote ${path}`);
  }
  return args.includes('--without-tests') ? 0 : runTests();
}

/** Returns the exit code of the tests. */
function runTests(): number {
  const before = new Map([...filesOfTests.keys()].map((path) => [path, read(join(root, path))]));
  const { status } = spawnSync(process.execPath, ['tools/test.ts', ...new Set(filesOfTests.values())], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, CHANCERY_GENERATE: '1' },
  });
  for (const path of staleFiles(root, before)) console.log(`wrote ${path}`);
  return status ?? 1;
}

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
