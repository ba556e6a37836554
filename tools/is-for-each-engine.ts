import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The file that reads the engine of a run. */
const engineOfRun = join('test', 'support', 'test-config.ts');

/**
 * True for test files that use the engine of the run, themselves or through an import. Others would do the same twice, and may depend on
 * having a process for themselves.
 */
export function isForEachEngine(root: string, file: string): boolean {
  const reached = new Set([file]);
  // Iterating over a set also visits members that are added meanwhile.
  for (const one of reached) for (const imported of importsOf(root, one)) reached.add(imported);
  return reached.has(engineOfRun);
}

/** True for a test file that says in its first line why it would find the same on the other engine. */
export function isOneEngineEnough(root: string, file: string): boolean {
  return readFileSync(join(root, file), 'utf8').startsWith('// One engine is enough: ');
}

/** Returns the imported files of test/. Others need no search, as the product never imports from there. */
function importsOf(root: string, file: string): readonly string[] {
  const path = join(root, file);
  const known = imports.get(path);
  if (known !== undefined) return known;
  const matches = readFileSync(path, 'utf8').matchAll(importPattern);
  const files = [...matches].map(([, specifier = '']) => join(dirname(file), specifier));
  // A string in a test may look like an import, so the file must exist.
  const found = files.filter((one) => one.startsWith('test') && existsSync(join(root, one)));
  imports.set(path, found);
  return found;
}

/** Matches imports of more than types. */
const importPattern = /^import\b(?!\s+type\b)[^;'"]*'(\.[^']+\.ts)';$/gm;

const imports = new Map<string, readonly string[]>();
