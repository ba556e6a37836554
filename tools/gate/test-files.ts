import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../build/root.ts';

/** Returns the test files in these folders, or with these names; all for none. */
export function findTests(paths: readonly string[]): readonly string[] {
  const starts = paths.length === 0 ? ['src', 'kit', 'test'] : paths;
  const files = starts.flatMap((start) => {
    const found = statSync(join(root, start), { throwIfNoEntry: false });
    return found?.isDirectory() === true
      ? globSync(`${start}/**/*.test.ts`, { cwd: root })
      : globSync(start, { cwd: root });
  });
  return [...new Set(files)].toSorted();
}

/** The file that reads the engine of a run. */
const engineOfRun = join('test', 'support', 'test-config.ts');

/** True for test files that use the engine of the run, themselves or through an import. */
export function usesEngineOfRun(file: string): boolean {
  return closureOf(file, (one) => one.startsWith('test')).has(engineOfRun);
}

/** True for tests of units, and of a service in their own process. Others start processes, or depend on having one for themselves. */
export function mayShareProcess(file: string): boolean {
  return !file.startsWith('test') || usesEngineOfRun(file);
}

/**
 * True for a test file that runs on PostgreSQL as well as on SQLite: its first line is `// Both engines: <why>.`. Throws for a header that
 * is none, which would leave the file out without a word, and for one of a file that would do the same twice.
 */
export function runsOnBothEngines(file: string): boolean {
  const hasHeader = hasEngineHeader(file, readFileSync(join(root, file), 'utf8'));
  if (hasHeader && !usesEngineOfRun(file))
    throw new Error(`${file}: its tests do not use the engine of the run: both runs would be the same`);
  return hasHeader;
}

const engineHeader = /^\/\/ Both engines: \S.*\.$/;

/** True for a text that begins with a header. Throws for what was probably meant to be one. `file` is its name in errors. */
export function hasEngineHeader(file: string, text: string): boolean {
  const [first = '', ...others] = text.split('\n');
  const isNearly =
    /^\/[/*].*\bengines?\b/i.test(first) || others.some((line) => /^\/[/*]+ ?both engines?:/i.test(line));
  const isHeader = engineHeader.test(first);
  if (isNearly && !isHeader)
    throw new Error(
      `${file}: expected "// Both engines: <why>." as its first line, or no word of engines there`,
    );
  return isHeader;
}

/** The whole service, and its commands: what starts one of them would be about every file. */
const isWhole = (file: string): boolean =>
  file === join('src', 'app.ts') || file.startsWith(join('src', 'cli'));

/**
 * Returns those of the tests that are, or use, one of these files: a unit test all that its unit imports, a test of test/ the helpers of
 * tests, and of the service only what it imports itself.
 */
export function testsOf(changed: readonly string[], tests: readonly string[]): readonly string[] {
  return tests.filter((test) => {
    const isOfUnit = !test.startsWith('test');
    const used = closureOf(test, (file) => file.startsWith('test') || (isOfUnit && !isWhole(file)));
    return changed.some((file) => used.has(file) || importsOf(test).includes(file));
  });
}

/** Returns a file with all that it imports, directly or not, through files for which `isEntered` is true. */
function closureOf(file: string, isEntered: (file: string) => boolean): ReadonlySet<string> {
  const reached = new Set([file]);
  // Iterating over a set also visits members that are added meanwhile. Helpers of tests import parts of the service to start it.
  for (const one of reached)
    for (const imported of importsOf(one))
      if (isEntered(imported) && (one === file || !one.startsWith('test') || imported.startsWith('test')))
        reached.add(imported);
  return reached;
}

function importsOf(file: string): readonly string[] {
  const known = imports.get(file);
  if (known !== undefined) return known;
  const matches = readFileSync(join(root, file), 'utf8').matchAll(importPattern);
  const files = [...matches].map(([, specifier = '']) => join(dirname(file), specifier));
  // A string in a test may look like an import, so the file must exist.
  const found = files.filter((one) => existsSync(join(root, one)));
  imports.set(file, found);
  return found;
}

/** Matches imports of more than types. */
const importPattern = /^import\b(?!\s+type\b)[^;'"]*'(\.[^']+\.ts)';$/gm;

const imports = new Map<string, readonly string[]>();
