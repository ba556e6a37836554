import { isProduct, isTest, resolveImport, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/** A file of fewer lines is a door without a room behind it, where only one other file goes through. */
const linesMin = 30;
/** The linter's limit for a file. */
const linesMax = 400;

/**
 * Refuses a small file that a single file of its room imports: it goes into that one, if there is space. Types count as well; tests do not.
 * Exempt is what must be a file of its own: what is loaded on demand, migrations, and what a file imports that runs as soon as it is loaded
 * (main.ts, the entry of a thread), as no test could import it there.
 */
export function checkSmallFiles(files: readonly SourceFile[]): readonly Violation[] {
  const importers = findImporters(files.filter(({ path }) => !isTest(path) && !path.startsWith('test/')));
  return files.flatMap((file) => {
    const [importer, another] = importers.get(file.path) ?? [];
    if (importer === undefined || another !== undefined || !isTooSmall(file)) return [];
    if (!hasSpace(importer, file) || isEntry(importer) || isLoadedOnDemand(file, importer)) return [];
    const message = `fewer than ${linesMin} lines, and only ${importer.path} imports it: put it there`;
    return [{ path: file.path, line: 1, rule: 'small-file', message }];
  });
}

/** Which files import each, once each. */
function findImporters(files: readonly SourceFile[]): ReadonlyMap<string, readonly SourceFile[]> {
  const importers = new Map<string, SourceFile[]>();
  for (const file of files) {
    const targets = file.imports.map(({ specifier = '' }) => resolveImport(file.path, specifier));
    for (const target of new Set(targets)) {
      if (target === undefined) continue;
      const known = importers.get(target);
      if (known === undefined) importers.set(target, [file]);
      else known.push(file);
    }
  }
  return importers;
}

function isTooSmall(file: SourceFile): boolean {
  return (
    isProduct(file.path) &&
    !file.path.includes('/migrations/') &&
    !isEntry(file) &&
    lineCount(file) < linesMin
  );
}

function hasSpace(importer: SourceFile, file: SourceFile): boolean {
  return roomOf(importer.path) === roomOf(file.path) && lineCount(importer) + lineCount(file) <= linesMax;
}

function isEntry({ path }: SourceFile): boolean {
  return path === 'src/main.ts' || path.endsWith('-worker.ts');
}

/** Whether it is imported by `import()` alone. */
function isLoadedOnDemand({ path }: SourceFile, importer: SourceFile): boolean {
  return importer.imports
    .filter(({ specifier = '' }) => resolveImport(importer.path, specifier) === path)
    .every(({ line }) =>
      importer.tokens.some(
        (token, at) =>
          token.line === line && token.text === 'import' && importer.tokens[at + 1]?.text === '(',
      ),
    );
}

/** Two leading parts of the path: a folder of src/, or a file that lies directly in it. */
function roomOf(path: string): string {
  return path.split('/', 2).join('/');
}

function lineCount({ text }: SourceFile): number {
  return text.split('\n').length - 1;
}
