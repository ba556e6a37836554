import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where the engine of a run is read. */
const engineOfRun = join('test', 'support', 'test-config.ts');

/**
 * Tests of the API say nothing of an engine, so they are run once on each: all that read which engine it is, themselves or by what
 * they import. Others would only do the same twice.
 */
export function isForEachEngine(root: string, file: string): boolean {
  const reached = new Set([file]);
  // A set gives what was added while it was walked through.
  for (const one of reached) for (const imported of importsOf(root, one)) reached.add(imported);
  return reached.has(engineOfRun);
}

/** Of the files of test/, which are not known by the product. */
function importsOf(root: string, file: string): readonly string[] {
  const path = join(root, file);
  const known = imports.get(path);
  if (known !== undefined) return known;
  const matches = readFileSync(path, 'utf8').matchAll(importPattern);
  const files = [...matches].map(([, specifier = '']) => join(dirname(file), specifier));
  // A test of what reads files may have such a line in a text.
  const found = files.filter((one) => one.startsWith('test') && existsSync(join(root, one)));
  imports.set(path, found);
  return found;
}

/** Of more than types. */
const importPattern = /^import\b(?!\s+type\b)[^;'"]*'(\.[^']+\.ts)';$/gm;

const imports = new Map<string, readonly string[]>();
