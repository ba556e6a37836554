import { isKit, resolveImport, type SourceFile } from './source-file.ts';
import type { Violation } from './violation.ts';

/**
 * Keeps the package for receivers to itself: it runs in browsers and Workers too and has no dependencies, so it imports its own
 * files alone. Examples show what a user writes, so they reach the repository only by the names of packages.
 */
export function checkKitImports(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ line, specifier }) => {
      const message = refusal(path, specifier);
      return message === undefined ? [] : [{ path, line, rule: 'kit-import', message }];
    }),
  );
}

function refusal(path: string, specifier: string | undefined): string | undefined {
  const target = specifier === undefined ? undefined : resolveImport(path, specifier);
  if (isKit(path) && (target === undefined || !isKit(target))) {
    return 'the kit imports nothing but its own files';
  }
  const isOutside = target !== undefined && !target.startsWith('examples/');
  return path.startsWith('examples/') && isOutside ? 'an example imports packages by their names' : undefined;
}
